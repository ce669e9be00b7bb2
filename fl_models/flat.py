"""A model as one flat vector: drift terms, clipping and the step are then single vector operations.

Two orders of the same d numbers. *Canonical*: `named_parameters` order, each parameter C-contiguous in its own shape;
this is what crosses the wire and what the server adds up. *Internal*: the same, but the weights of convolutions are
stored channels-last, as the fast kernels want them. A parameter occupies the same range in both. A module that is not
of the project keeps the memory format of plain PyTorch (`Model.channels_last`): both orders are the same there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from fl_models.model import Model

Vector: TypeAlias = npt.NDArray[np.float32]
Shape: TypeAlias = tuple[int, ...]


def parameter_names(model: nn.Module) -> list[str]:
    return [name for name, _ in model.named_parameters()]


def state_to_vector(state: Mapping[str, npt.NDArray[np.floating]], names: Sequence[str]) -> Vector:
    """The named parameters of a state dict as one canonical vector; other entries (buffers) are left out."""
    missing = [name for name in names if name not in state]
    if missing:
        raise ValueError(f"The state lacks the parameter {missing[0]!r} ({len(missing)} of {len(names)} are missing).")
    return joined([np.asarray(state[name], dtype=np.float32).reshape(-1) for name in names])


def address(values: npt.NDArray[np.generic]) -> int:
    """Where an array lies; NumPy's `ctypes.data` says the same and takes twenty times as long."""
    place: int = values.__array_interface__["data"][0]
    return place


def joined(pieces: Sequence[Vector]) -> Vector:
    """The same numbers as one vector, without a copy where all are views of the same memory and lie there without a gap."""
    if not pieces:  # a model part without parameters, such as the body of `linear`
        return np.zeros(0, dtype=np.float32)
    first = pieces[0]
    place, owner = address(first), first.base
    for piece in pieces:
        if owner is None or piece.base is not owner or address(piece) != place or not piece.flags.c_contiguous:
            return np.concatenate(pieces)
        place += piece.nbytes
    return np.lib.stride_tricks.as_strided(first, (sum(map(len, pieces)),), (first.itemsize,), writeable=False)


def vector_to_state(vector: Vector, shapes: Mapping[str, Shape]) -> dict[str, Vector]:
    """A canonical vector as named arrays, which are views into it."""
    sizes = [math.prod(shape) for shape in shapes.values()]
    if vector.shape != (sum(sizes),):
        raise ValueError(
            f"The parameters have {sum(sizes)} numbers together, but the vector's shape is {vector.shape}."
        )
    starts = accumulate(sizes, initial=0)
    return {
        name: vector[start : start + size].reshape(shape)
        for (name, shape), start, size in zip(shapes.items(), starts, sizes, strict=False)
    }


def load_buffers(flat: FlatModel, buffers: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """Overwrite the model's buffers; the names and shapes must be exactly the model's."""
    own = flat.buffers()
    if own.keys() != buffers.keys():
        odd = sorted(own.keys() ^ buffers.keys())
        raise ValueError(f"The buffers do not fit the model: {odd[0]!r} is on one side only ({len(odd)} such names).")
    for name, value in own.items():
        given = np.asarray(buffers[name])
        if given.shape != tuple(value.shape):
            raise ValueError(f"Buffer {name!r} has the shape {tuple(value.shape)}, but {given.shape} was given.")
        value.copy_(torch.tensor(given))


class FlatModel:
    """A model whose parameters and gradients are views into `theta` and `grad`, two flat float32 vectors of size d.

    The model must be on its device already: moving it afterwards would cut the views. `channels_last` is the model's own
    unless it is given.
    """

    def __init__(self, model: Model, channels_last: bool | None = None) -> None:
        parameters = dict(model.named_parameters())
        device = _check_parameters(parameters)
        channels_last = getattr(model, "channels_last", True) if channels_last is None else channels_last
        self.model = model
        self.names = list(parameters)
        self.state_names = list(model.state_dict())
        self.head_names = model.head_names() if isinstance(model, Model) else []
        self._buffer_homes = _buffer_homes(model, set(self.state_names) - set(self.names))
        self._slots: dict[str, _Slot] = {}
        start = 0
        for name, p in parameters.items():
            self._slots[name] = _Slot(start, start + p.numel(), tuple(p.shape), channels_last and p.dim() == 4)
            start += p.numel()
        self.shapes: dict[str, Shape] = {name: slot.shape for name, slot in self._slots.items()}
        self._runs = _merged(list(self._slots.values()))
        self.theta = torch.empty(start, device=device)
        self.grad = torch.zeros_like(self.theta)
        self._gradients: list[tuple[nn.Parameter, Tensor]] = []
        for p, slot in zip(parameters.values(), self._slots.values(), strict=True):
            value = slot.internal(self.theta)
            value.copy_(p.data)
            p.data = value
            self._gradients.append((p, slot.internal(self.grad)))
        self.zero_grad()

    def zero_grad(self) -> None:
        self.grad.zero_()
        # Somebody's optimizer.zero_grad() sets gradients to None; autograd would then write elsewhere, unnoticed.
        for p, gradient in self._gradients:
            if p.grad is not gradient:
                p.grad = gradient

    def load(self, vector: npt.NDArray[np.floating] | Tensor) -> None:
        """Set the parameters from a canonical vector."""
        self._write_internal(vector, self.theta)

    def buffers(self) -> dict[str, Tensor]:
        """The entries of the state dict that are not parameters, such as BatchNorm's running statistics."""
        return {name: getattr(module, key).detach() for name, (module, key) in self._buffer_homes.items()}

    def vector(self, into: Vector | None = None) -> Vector:
        """A canonical copy of the parameters."""
        return self.to_canonical(self.theta, into)

    def to_internal(self, vector: npt.NDArray[np.floating] | Tensor) -> Tensor:
        """A copy of a canonical vector in internal order, on the model's device."""
        internal = torch.empty_like(self.theta)
        self._write_internal(vector, internal)
        return internal

    def to_canonical(self, tensor: Tensor, into: Vector | None = None) -> Vector:
        """A copy of an internal vector in canonical order, the exact inverse of `to_internal`; written `into` memory that is given."""
        self._check_size(tensor)
        source = tensor.detach().to(device="cpu", dtype=torch.float32)
        vector = np.empty(len(source), dtype=np.float32) if into is None else into
        canonical = torch.from_numpy(vector)
        for run in self._runs:
            run.canonical(canonical).copy_(run.internal(source))
        return vector

    def _write_internal(self, vector: npt.NDArray[np.floating] | Tensor, internal: Tensor) -> None:
        self._check_size(vector)
        if not isinstance(vector, Tensor) and internal.device.type == "cpu":
            # By NumPy: torch warns of read-only arrays, and those of a message are.
            for run in self._runs:
                run.internal(internal).numpy()[...] = vector[run.start : run.stop].reshape(run.shape)
            return
        if isinstance(vector, Tensor):
            source = vector.detach().to(internal.device)
        else:
            source = torch.from_numpy(np.require(vector, dtype=np.float32, requirements=["C", "W"])).to(internal.device)
        for run in self._runs:
            run.internal(internal).copy_(run.canonical(source))

    def _check_size(self, vector: npt.NDArray[np.floating] | Tensor) -> None:
        if tuple(vector.shape) != tuple(self.theta.shape):
            given = tuple(vector.shape)
            raise ValueError(f"The model has {len(self.theta)} parameters, but the vector's shape is {given}.")

    def mask(self, prefixes: Sequence[str]) -> Tensor:
        """bool [d]: the parameters under one of the prefixes, by whole dotted components (`fc1` is not in `fc10`)."""
        known = {*self.names, *(name for name, _ in self.model.named_modules() if name)}
        chosen = torch.zeros_like(self.theta, dtype=torch.bool)
        for prefix in prefixes:
            if prefix not in known:
                parts = ", ".join(dict.fromkeys(name.split(".")[0] for name in self.names))
                raise ValueError(f"The model has no part {prefix!r}; its parts are {parts} and what is inside them.")
            for name, slot in self._slots.items():
                if name == prefix or name.startswith(f"{prefix}."):
                    chosen[slot.start : slot.stop] = True
        return chosen

    def untouched(self, trainable: Tensor) -> set[str]:
        """Names of the parameters in which a mask [d] has no entry."""
        chosen = trainable.cpu()
        return {name for name, slot in self._slots.items() if not chosen[slot.start : slot.stop].any()}


class _Slot(NamedTuple):
    """Where a parameter lies in the flat vector, and whether it is stored channels-last there."""

    start: int
    stop: int
    shape: Shape
    permuted: bool

    def canonical(self, flat: Tensor) -> Tensor:
        return flat[self.start : self.stop].view(self.shape)

    def internal(self, flat: Tensor) -> Tensor:
        if not self.permuted:
            return self.canonical(flat)
        outputs, inputs, height, width = self.shape
        return flat[self.start : self.stop].view(outputs, height, width, inputs).permute(0, 3, 1, 2)


def _buffer_homes(model: nn.Module, wanted: set[str]) -> dict[str, tuple[nn.Module, str]]:
    """Which module holds each of these buffers: a module may replace the tensor, so it is looked up there every time."""
    homes = {}
    for prefix, module in model.named_modules():
        for key, _ in module.named_buffers(recurse=False):
            if (name := f"{prefix}.{key}" if prefix else key) in wanted:
                homes[name] = module, key
    return homes


def _merged(slots: list[_Slot]) -> list[_Slot]:
    """The same ranges with neighbours that need no permutation joined, so that copying takes few operations."""
    runs: list[_Slot] = []
    for slot in slots:
        if not slot.permuted:
            start = runs.pop().start if runs and not runs[-1].permuted else slot.start
            runs.append(_Slot(start, slot.stop, (slot.stop - start,), permuted=False))
        else:
            runs.append(slot)
    return runs


def _check_parameters(parameters: Mapping[str, nn.Parameter]) -> torch.device:
    odd = [(name, p.dtype) for name, p in parameters.items() if p.dtype != torch.float32]
    if odd:
        raise ValueError(f"Parameter {odd[0][0]!r} is {odd[0][1]}, but a flat model is float32 throughout.")
    devices = {p.device for p in parameters.values()}
    if len(devices) != 1:
        raise ValueError(f"A flat model lives on one device, but its parameters are on {len(devices)}.")
    return devices.pop()
