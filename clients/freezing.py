"""Holding a part of the model still while the rest is trained: no gradients through it, no running statistics, no dropout."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torch import Tensor

from fl_models.flat import FlatModel


@contextlib.contextmanager
def frozen(flat: FlatModel, trainable: Tensor | None) -> Iterator[None]:
    """In train mode, except what `trainable` (0/1 per parameter) has no part in: that is in eval mode and gets no gradients.

    A module without parameters goes with the one before it, which is where it takes its input from.
    """
    model = flat.model
    if not all(module.training for module in model.modules()):  # a look costs less than telling each what it is already
        model.train()
    still = set() if trainable is None else flat.untouched(trainable)
    if not still:
        yield
        return
    parameters = [(p, p.requires_grad) for name, p in model.named_parameters() if name in still]
    held = False
    for name, module in model.named_modules():
        own = [f"{name}.{each}" if name else each for each, _ in module.named_parameters(recurse=False)]
        if own:
            held = still.issuperset(own)
        if held and not list(module.children()):
            module.eval()
    try:
        for p, _ in parameters:
            p.requires_grad_(False)
        yield
    finally:
        for p, before in parameters:
            p.requires_grad_(before)
        model.train()
