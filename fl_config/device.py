"""Where a client trains: the best device there is, or the one asked for; the only place that asks torch about hardware."""

from __future__ import annotations

import torch

from fl_config.errors import ConfigError


def choose_device(wanted: str = "auto") -> torch.device:
    """auto, cpu, cuda or mps; a sentence if the one asked for is not there."""
    here = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return torch.device(next(name for name in ("cuda", "mps", "cpu") if here[name]))
    if not here[wanted]:
        raise ConfigError(f"The device {wanted!r} was asked for, but torch finds none here: use --device auto or cpu.")
    if wanted == "cuda":
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    return torch.device(wanted)
