"""Reading Flower arrays without a copy: the bytes of a message are used as they lie, read-only.

`Array.numpy()` parses each array's header as Python text and copies the numbers; for small models that takes longer than the
training of a minibatch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flwr.app import Array
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY\x01\x00"  # version 1.0: two bytes for the length of the header follow


def read_array(array: Array) -> NDArray[Any]:
    """The same numbers as `array.numpy()`; anything but a plain C-ordered array is left to that."""
    data = array.data
    start = len(MAGIC) + 2 + int.from_bytes(data[len(MAGIC) : len(MAGIC) + 2], "little")
    header = f"{{'descr': '{np.dtype(array.dtype).str}', 'fortran_order': False, 'shape': {tuple(array.shape)}, }}"
    if (
        array.stype != "numpy.ndarray"
        or not data.startswith(MAGIC)
        or data[len(MAGIC) + 2 : start].strip() != header.encode()
    ):
        return array.numpy()
    return np.frombuffer(data, dtype=array.dtype, offset=start).reshape(array.shape)
