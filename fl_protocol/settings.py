"""How a client trains in one round: the settings that the server sends with every message."""

from __future__ import annotations

from dataclasses import dataclass

from fl_config.options import Options


@dataclass(frozen=True)
class LocalSettings:
    """How a client trains in one round."""

    epochs: int = 1
    batch_size: int = 50  # 0 is the full batch
    lr: float = 0.05  # eta_t
    initial_lr: float = 0.05  # eta_0
    momentum: float = 0.0
    weight_decay: float = 0.0
    clip: float = 0.0  # 0 is none
    seed: int = 0
    augment: str = "none"
    mixed_precision: bool = False


def local_settings(config: Options) -> LocalSettings:
    return LocalSettings(
        epochs=config.epochs,
        batch_size=config.batch_size,
        lr=config.lr,
        initial_lr=config.lr,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
        clip=config.clip,
        seed=config.seed,
        augment=config.augment,
        mixed_precision=config.mixed_precision,
    )
