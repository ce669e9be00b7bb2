"""A device that is not the CPU, on a machine that has none: its tensors are the CPU's, and mixing both is an error, as on a GPU.

`torch.device("pretended")` works where "cuda" would: tensors go over with `.to`, NumPy cannot read them, operations on tensors of
both devices are refused (numbers without a dimension excepted), and so are draws on the device from a generator of the CPU. Unlike
a GPU it computes what the CPU computes, bit by bit, so that a run on it must give the CPU's model.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("pretended")  # type: ignore[no-untyped-call]
torch.get_device_module("pretended").get_amp_supported_dtype = lambda: [
    torch.bfloat16
]  # autocast asks, also where it is off
PRETENDED = torch.device("pretended", 0)
COPIES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)


class MixedDevices(RuntimeError):
    """What CUDA would refuse."""


class There(Tensor):
    """A tensor of the device; `inner` is the one of the CPU that it stands for."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> There:
        about = {"strides": inner.stride(), "storage_offset": inner.storage_offset(), "dtype": inner.dtype}
        made: There = Tensor._make_wrapper_subclass(cls, inner.shape, device=PRETENDED, **about)  # type: ignore[attr-defined]
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        return compute(operation, given, named or {})

    def __deepcopy__(self, memo: dict[int, Any]) -> There:
        twin = There(self.inner.clone())
        twin._is_param = getattr(self, "_is_param", False)  # type: ignore[attr-defined]
        memo[id(self)] = twin
        twin.requires_grad_(self.requires_grad)
        return twin

    @property
    def data(self) -> There:
        return There(self.inner.detach())

    @data.setter
    def data(self, value: There) -> None:
        Tensor.data.__set__(self, value)
        self.inner = value.inner

    def numpy(self, **_: Any) -> Any:
        raise TypeError("NumPy cannot read a tensor of this device: use .cpu() first.")


def compute(operation: Any, given: Any, named: dict[str, Any]) -> Any:
    """Run an operation of torch on the CPU's tensors, if its operands are all of one device."""
    tensors = [each for each in tree_flatten((given, named))[0] if isinstance(each, Tensor)]
    there = [each for each in tensors if isinstance(each, There)]
    place = named.get("device")
    result_there = bool(there) if place is None else place.type == PRETENDED.type
    if operation is torch.ops.aten.copy_.default:
        result_there = isinstance(given[0], There)
    elif operation not in COPIES and there and any(each.dim() for each in tensors if not isinstance(each, There)):
        raise MixedDevices(f"{operation} has operands on two devices.")
    if result_there and named.get("generator") is not None:
        raise MixedDevices(f"{operation} draws on the device from a generator of the CPU.")
    inner = tree_map(_inner, (given, {**named, "device": torch.device("cpu")} if place is not None else named))
    result = operation(*inner[0], **inner[1])
    known = {id(_inner(each)): each for each in tensors}  # what an operation in place returns is its operand
    return tree_map(
        lambda each: known.get(id(each), There(each) if result_there else each) if isinstance(each, Tensor) else each,
        result,
    )


def _inner(each: Any) -> Any:
    return each.inner if isinstance(each, There) else each


class Pretending(TorchDispatchMode):
    """While it is entered, the device exists."""

    def __torch_dispatch__(self, operation: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        return compute(operation, given, named or {})
