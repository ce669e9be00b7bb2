"""Which arrays of the model a client keeps to itself: the head (FedPer, FedBABU), or everything (local training).

    local   nothing is shared: the client goes on from its own model
    per     private head, trained by the client and never sent; shared body       Arivazhagan et al., 2019
    babu    the head stays at the common initial values while the body is trained    Oh et al., ICLR 2022

The server sends the whole model to a client until one of its replies counted, and only the shared arrays afterwards; the private ones
are then in the client's memory. A personalised model may be fine-tuned on the client's data before it is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from fl_config.errors import ConfigError
from fl_models.flat import FlatModel

PREFIX = "private:"
Arrays = dict[str, NDArray[Any]]


def private_names(topology: str | None, all_names: Iterable[str], head_names: Iterable[str]) -> set[str]:
    if topology == "local":
        return set(all_names)
    return set(head_names) if topology in ("per", "babu") else set()


def complete(received: Arrays, remembered: Mapping[str, NDArray[Any]], private: set[str]) -> Arrays:
    """The whole model: what came, and the private arrays from memory (which win over those that came)."""
    own = {name.removeprefix(PREFIX): value for name, value in remembered.items() if name.startswith(PREFIX)}
    missing = private - received.keys() - own.keys()
    if missing:
        raise ConfigError(
            f"The private array {sorted(missing)[0]!r} is neither in the message nor in this client's memory."
        )
    return {**received, **{name: own[name] for name in private if name in own}}


def remember(arrays: Arrays, private: set[str]) -> Arrays:
    return {PREFIX + name: arrays[name] for name in private}


def still_names(topology: str | None, private: set[str], own: bool = True) -> set[str]:
    """Private arrays that a pass does not train: FedBABU's always, others where the pass is not the client's `own`."""
    return set(private) if topology == "babu" or not own else set()


def trainable_mask(flat: FlatModel, still: Iterable[str]) -> Tensor | None:
    """1 for what is trained; None where that is everything."""
    names = [name for name in flat.names if name in set(still)]
    return (~flat.mask(names)).to(torch.float32) if names else None
