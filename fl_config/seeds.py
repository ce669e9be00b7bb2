"""Randomness as a function of (seed, purpose, ...): the same words give the same bits on every engine and host."""

from __future__ import annotations

import hashlib

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
