"""The arrays of a message into the client's model, and the model back into arrays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from fl_config.errors import ConfigError
from fl_models.flat import FlatModel, buffers, load_buffers, shapes, state_to_vector, vector_to_state
from fl_protocol.types import Arrays, ClientId


def load_arrays(flat: FlatModel, arrays: Arrays, client: ClientId) -> None:
    """Set parameters and buffers; names and shapes must be exactly the model's."""
    own = flat.model.state_dict()
    if own.keys() != arrays.keys():
        odd = sorted(own.keys() ^ arrays.keys())
        raise ConfigError(f"The server's model does not fit client {client}'s: {odd[0]!r} is on one side only.")
    for name, value in own.items():
        if tuple(value.shape) != arrays[name].shape:
            raise ConfigError(
                f"The server's {name!r} has the shape {arrays[name].shape}, client {client}'s {tuple(value.shape)}."
            )
    flat.load(state_to_vector(arrays, flat.names))
    load_buffers(flat.model, {name: value for name, value in arrays.items() if name not in flat.names})


def arrays_of(flat: FlatModel) -> Arrays:
    """The model by state-dict names, in the state dict's order."""
    named: Arrays = {**vector_to_state(flat.vector(), shapes(flat.model)), **buffers(flat.model)}
    return {name: np.asarray(named[name]) for name in flat.model.state_dict()}


def trainable_mask(flat: FlatModel, still: Iterable[str]) -> Tensor | None:
    """1 for what is trained; None where that is everything."""
    held = set(still)
    names = [name for name in flat.names if name in held]
    return (~flat.mask(names)).to(torch.float32) if names else None
