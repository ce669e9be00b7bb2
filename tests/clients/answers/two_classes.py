"""What a client with four examples of two classes, and a linear model, can be asked about."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from clients.answers import Facts
from fl_data import Samples
from fl_models import wrap
from fl_models.flat import FlatModel


def facts(bias: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Facts:
    """Three examples of class 0 and one of class 1, of three classes; the logits are the bias everywhere."""
    layer = nn.Linear(2, 3)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.copy_(torch.tensor(bias))
    y = np.array([0, 0, 1, 0])
    data = Samples(np.zeros((4, 2), dtype=np.float32), y)
    return Facts(np.bincount(y, minlength=3), data, 3, FlatModel(wrap(layer)))
