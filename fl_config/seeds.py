"""Randomness as a function of (seed, purpose, ...): the same words give the same bits on every engine and host."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator

import numpy as np
import torch


def derive(seed: int, purpose: str, *parts: int | str) -> int:
    """A 63-bit seed for one purpose; `parts` are usually the round and the client id."""
    words = "\x1f".join([str(seed), purpose, *map(str, parts)])
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big") >> 1


def rng(seed: int, purpose: str, *parts: int | str) -> np.random.Generator:
    return np.random.default_rng(derive(seed, purpose, *parts))


def torch_generator(seed: int, purpose: str, *parts: int | str) -> torch.Generator:
    return torch.Generator().manual_seed(derive(seed, purpose, *parts))


@contextlib.contextmanager
def seeded(seed: int, purpose: str, *parts: int | str, device: str | torch.device = "cpu") -> Iterator[None]:
    """torch's own generators, seeded inside and as they were afterwards: for dropout and all else that a model draws itself.

    The generator of the CPU always, and that of `device`. By hand for the CPU: `torch.random.fork_rng` takes twice as long.
    """
    value = derive(seed, purpose, *parts)
    place = torch.device(device)
    before = torch.default_generator.get_state()
    with contextlib.nullcontext() if place.type == "cpu" else _seeded_device(value, place):
        torch.default_generator.manual_seed(value)
        try:
            yield
        finally:
            torch.default_generator.set_state(before)


@contextlib.contextmanager
def _seeded_device(value: int, place: torch.device) -> Iterator[None]:
    of_device = torch.get_device_module(place)
    before = of_device.get_rng_state(place)
    # CUDA seeds the current device, which need not be this one; others have only one.
    with of_device.device(place) if place.type == "cuda" else contextlib.nullcontext():
        of_device.manual_seed(value)
    try:
        yield
    finally:
        of_device.set_rng_state(before, place)
