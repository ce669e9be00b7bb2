"""FedSSA's loss by hand, and that it is finite at weight zero."""

from __future__ import annotations

import math

import pytest
import torch

from fl_strategies.weighting.ssa import ssa_loss
from tests.fl_strategies.weighting.ssa.known_logits import random_views


def test_loss_by_hand() -> None:
    # One model, one sample, two classes: y1 = (3/4, 1/4), y2 = (1/2, 1/2).
    first, second = torch.tensor([[[math.log(3), 0.0]]]), torch.tensor([[[0.0, 0.0]]])
    cosine = (0.375 + 0.125) / math.sqrt((0.5625 + 0.0625) * 0.5)
    variance = (0.125 + 0.0) / 2  # var(y1) = 2 (1/4)^2 / 1
    loss = ssa_loss(first, second, torch.tensor([1.0]), lambda_var=2.0, lambda_we=0.3)
    assert float(loss) == pytest.approx(-cosine - 2 * variance, abs=1e-6)
    population = ssa_loss(first, second, torch.tensor([1.0]), lambda_var=2.0, var_unbiased=False)
    assert float(population) == pytest.approx(-cosine - variance, abs=1e-6)


def test_logits_are_mixed_before_the_softmax() -> None:
    logits = torch.tensor([[[2.0, 0.0]], [[-2.0, 0.0]]])  # opposite clients cancel: y = (1/2, 1/2), variance 0
    loss = ssa_loss(logits, logits, torch.tensor([0.5, 0.5]), lambda_var=1.0, lambda_we=1.0)
    assert float(loss) == pytest.approx(-1 - math.log(2), abs=1e-6)


def test_loss_and_slope_are_finite_at_weight_zero() -> None:
    first, second = random_views(3)
    weights = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64, requires_grad=True)
    loss = ssa_loss(first, second, weights)
    torch.autograd.backward(loss)
    assert weights.grad is not None
    assert torch.isfinite(weights.grad).all()
    alone = ssa_loss(first[:1], second[:1], torch.ones(1, dtype=torch.float64))
    assert float(loss.detach()) == pytest.approx(float(alone), abs=1e-12)
