"""A Flower `Array` over numbers in memory, whose serialised bytes are made only when something asks for them.

Flower's own `Array` is the text of a .npy file from the start. Between a simulation's processes nobody needs that text: writing and
parsing it took longer than training a minibatch. On a wire (gRPC, Flower's own engine) it is the same text as ever.
"""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np
from flwr.app import Array
from numpy.typing import NDArray

NUMPY = "numpy.ndarray"  # Flower's name of this serialisation


dtype_name = functools.lru_cache(maxsize=64)(str)  # NumPy takes its time to say "float32"


@functools.lru_cache(maxsize=4096)
def header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """What a .npy file of a C-ordered array begins with."""
    written = io.BytesIO()
    described: dict[str, Any] = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(written, described)
    return written.getvalue()


class PlainArray(Array):
    """`values` must not change any more; whoever reads them gets them as they lie, and read-only."""

    values: NDArray[Any]
    finite: bool | None  # whether all numbers are, where somebody has looked already

    def __init__(self, values: NDArray[Any], finite: bool | None = None) -> None:
        lying = np.asarray(values, order="C")  # not ascontiguousarray, which makes a vector of a scalar
        if lying.flags.writeable:
            lying = lying.view()
            lying.flags.writeable = False
        # Past Flower's __setattr__, which keeps account of changes: there are none.
        self.__dict__.update(values=lying, dtype=dtype_name(lying.dtype), shape=lying.shape, stype=NUMPY, finite=finite)

    @property
    def data(self) -> bytes:
        made: bytes | None = self.__dict__.get("_data")
        if made is None:
            made = b"".join([header(self.dtype, self.shape), self.values.tobytes()])
            self.__dict__["_data"] = made
        return made

    @data.setter
    def data(self, value: bytes) -> None:
        """Bytes of somebody else's: from now on it is an array as any other."""
        self.__class__ = Array  # type: ignore[assignment]
        self.__dict__["data"] = value

    @property
    def num_bytes(self) -> int:
        """The length of `data`, without making it."""
        return len(header(self.dtype, self.shape)) + int(self.values.nbytes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Array):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in ("dtype", "shape", "stype", "data"))

    __hash__ = None  # type: ignore[assignment]

    def numpy(self) -> NDArray[Any]:
        """A copy, as Flower's own arrays give one."""
        return self.values.copy()


PlainArray.__qualname__ = Array.__qualname__  # Flower writes it on the wire as the kind of object
