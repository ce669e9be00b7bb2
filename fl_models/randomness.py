"""Whether a model draws random numbers when it is trained, so that torch's generator must be seeded for it (`seeds.seeded`)."""

from __future__ import annotations

import functools

from torch import nn

from fl_models.foreign import ForeignModel
from fl_models.model import Model

_DRAWING = (
    nn.Dropout,
    nn.Dropout1d,
    nn.Dropout2d,
    nn.Dropout3d,
    nn.AlphaDropout,
    nn.FeatureAlphaDropout,
    nn.RReLU,
    nn.FractionalMaxPool2d,
    nn.FractionalMaxPool3d,
)


@functools.lru_cache(maxsize=4)
def draws_random_numbers(model: nn.Module) -> bool:
    """For models of the project, whether one of their layers draws; for all others True, as `F.dropout` cannot be seen."""
    if isinstance(model, ForeignModel) or not isinstance(model, Model):
        return True
    return any(isinstance(layer, _DRAWING) or getattr(layer, "dropout", 0) for layer in model.modules())
