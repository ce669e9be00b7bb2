"""The arrays of a message into the client's model, and the model back into arrays."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from fl_config.errors import ConfigError
from fl_models.flat import FlatModel, load_buffers, state_to_vector, vector_to_state
from fl_protocol.types import Arrays, ClientId, Vector


def load_arrays(flat: FlatModel, arrays: Arrays, client: ClientId) -> None:
    """Set parameters and buffers; names and shapes must be exactly the model's."""
    if odd := sorted(arrays.keys() ^ set(flat.state_names)):
        raise ConfigError(f"The server's model does not fit client {client}'s: {odd[0]!r} is on one side only.")
    own = {name: tuple(value.shape) for name, value in flat.buffers().items()}
    for name, shape in {**flat.shapes, **own}.items():
        if shape != arrays[name].shape:
            raise ConfigError(f"The server's {name!r} has the shape {arrays[name].shape}, client {client}'s {shape}.")
    flat.load(state_to_vector(arrays, flat.names))
    load_buffers(flat, {name: arrays[name] for name in own})


def arrays_of(flat: FlatModel, into: Vector | None = None) -> Arrays:
    """The model by state-dict names, in the state dict's order; its parameters lie in `into` if that is given."""
    named: Arrays = dict(vector_to_state(flat.vector(into), flat.shapes))
    named |= {name: value.cpu().numpy().copy() for name, value in flat.buffers().items()}
    return {name: named[name] for name in flat.state_names}


def trainable_mask(flat: FlatModel, still: Iterable[str]) -> Tensor | None:
    """1 for what is trained; None where that is everything."""
    held = set(still)
    names = [name for name in flat.names if name in held]
    return (~flat.mask(names)).to(torch.float32) if names else None
