"""Small files in published formats, written byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

RANDOM = np.random.default_rng(0)
TEN = tuple(map(str, range(10)))


def opcode_file(entries: dict[str, object]) -> bytes:
    """A protocol-2 object file as Python 2 wrote CIFAR's: short strings, a list of ints, one byte array."""

    def encode(value: object) -> bytes:
        if isinstance(value, str):
            return b"U" + bytes([len(value)]) + value.encode()
        if isinstance(value, list):
            items = b"".join(b"K" + bytes([v]) if isinstance(v, int) else encode(v) for v in value)
            return b"](" + items + b"e"
        assert isinstance(value, np.ndarray)
        raw = value.tobytes()
        reconstruct = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        shape = b"".join(b"M" + struct.pack("<H", side) for side in value.shape) + b"\x86"
        dtype = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        return reconstruct + b"(K\x01" + shape + dtype + b"\x89" + b"T" + struct.pack("<i", len(raw)) + raw + b"tb"

    body = b"".join(encode(key) + encode(value) for key, value in entries.items())
    return b"\x80\x02}q\x01(" + body + b"u."


def save(path: Path, **arrays: object) -> str:
    full = {"x_train": np.ones((4, 3)), "y_train": [0, 1, 0, 1], "x_test": np.zeros((2, 3)), "y_test": [0, 1]} | arrays
    np.savez(path, **{key: np.asarray(value) for key, value in full.items() if value is not None})
    return f"npz:{path}"
