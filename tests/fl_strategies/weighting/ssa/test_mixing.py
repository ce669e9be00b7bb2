"""Weights by class shares: one step by hand, and where they end."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from fl_models import wrap
from fl_models.flat import FlatModel
from fl_strategies.weighting.ssa.mixing import Mixture, best_start, learn_weights_by_shares, log_shares_of

LOG2 = math.log(2)


def biases(*rows: tuple[float, float, float]) -> Mixture:
    """Models of three classes whose logits are their bias, whatever the sample."""
    flat = FlatModel(wrap(nn.Linear(2, 3)))
    updates = np.zeros((len(rows), 9), dtype=np.float32)
    updates[:, 6:] = rows
    return Mixture(flat, np.zeros(9, dtype=np.float32), updates, torch.zeros(4, 2))


def test_one_step_of_two_clients_and_three_classes_by_hand() -> None:
    """z = (log 4, 0, 0) / 2, so y = (1/2, 1/4, 1/4); with q = (1/4, 1/4, 1/2) KL = log2 / 4 and dKL/dz_0 = 3/8 log2.

    g = (3/4 log2^2, 0), dv = (3/16, -3/16) log2^2.
    """
    mixture, q = biases((math.log(4), 0, 0), (0, 0, 0)), [0.25, 0.25, 0.5]
    assert mixture.loss(np.array([0.5, 0.5]), log_shares_of(q, torch.device("cpu"))) == pytest.approx(
        LOG2 / 4, abs=1e-6
    )
    w = learn_weights_by_shares(mixture, q, lambda_we=0.0, lr=1.0, momentum=0.0, nesterov=False, steps=1, batch_size=0)
    assert w[0] == pytest.approx(1 / (1 + math.exp(3 / 8 * LOG2**2)), abs=1e-6)


def test_it_finds_the_mixture_that_predicts_the_shares() -> None:
    mixture = biases((math.log(9), 0, 0), (0, math.log(9), 0))
    wanted = np.exp(np.array([0.75, 0.25, 0]) * math.log(9))
    w = learn_weights_by_shares(mixture, wanted / wanted.sum(), lambda_we=0.0, steps=400)
    np.testing.assert_allclose(w, [0.75, 0.25], atol=1e-3)


def test_equal_clients_stay_equal_and_one_has_all() -> None:
    mixture = biases((1, 2, 3), (1, 2, 3), (1, 2, 3))
    np.testing.assert_allclose(learn_weights_by_shares(mixture, [0.2, 0.2, 0.6]), [1 / 3] * 3, atol=1e-12)
    assert learn_weights_by_shares(biases((1, 2, 3)), [1, 0, 0]).tolist() == [1.0]


def test_the_entropy_term_alone_makes_weights_equal() -> None:
    mixture = biases((1, 2, 3), (1, 2, 3))
    w = learn_weights_by_shares(mixture, [1, 1, 1], lambda_we=1.0, init=[0.9, 0.1], steps=300)
    np.testing.assert_allclose(w, [0.5, 0.5], atol=1e-6)


def test_the_best_start_is_the_one_with_the_least_loss() -> None:
    mixture = biases((9, 0, 0), (0, 9, 0), (0, 0, 9))
    starts = [np.full(3, 1 / 3), *np.eye(3)]
    assert best_start(mixture, starts, [0, 1, 0], 1e-3).tolist() == [0, 1, 0]
    assert best_start(mixture, starts, [1, 1, 1], 1e-3).tolist() == [1 / 3] * 3
    assert best_start(mixture, starts[1:], [1, 1, 1], 0.0).tolist() == [1, 0, 0]  # the first among equals


def test_a_class_that_the_target_lacks_costs_much_and_not_infinitely_much() -> None:
    log_shares = log_shares_of([1.0, 0.0, 0.0], torch.device("cpu"))
    assert torch.isfinite(log_shares).all()
    assert biases((0, 50, 0)).loss(np.ones(1), log_shares) > 5
