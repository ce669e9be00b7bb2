"""Feature sums by class, by hand: of which samples, of which features, and as which whole numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from clients.answers import Facts, vector_of
from fl_data import Samples
from fl_models import wrap
from fl_models.flat import FlatModel
from fl_protocol.fixed_point import from_fixed
from tests.clients.answers.two_classes import facts

X = np.array([[1.0, 0.5], [2.0, -0.25], [3.0, 0.125], [4.0, 7.0]], dtype=np.float32)


def known() -> Facts:
    """Three examples of class 0 and one of class 1; the features of a linear model are its inputs."""
    return replace(facts(), data=Samples(X, np.array([0, 0, 1, 0])))


def test_counts_and_sums_by_hand() -> None:
    told = vector_of("class_features", known())
    assert told[:3].tolist() == [3, 1, 0]
    assert from_fixed(told[3:]).reshape(3, 2).tolist() == [[7.0, 7.25], [3.0, 0.125], [0.0, 0.0]]


def test_a_sample_is_drawn_by_the_seed() -> None:
    two = [vector_of("class_features", known(), {"samples": 2, "seed": seed}).tolist() for seed in range(8)]
    assert all(sum(told[:3]) == 2 for told in two)
    assert len({tuple(told) for told in two}) > 1
    assert two[3] == vector_of("class_features", known(), {"samples": 2, "seed": 3}).tolist()


def test_running_statistics_are_those_that_came_and_stay_so() -> None:
    net = nn.Sequential(nn.BatchNorm1d(2, eps=0.0), nn.Linear(2, 3))
    net[0].running_mean.copy_(torch.tensor([1.0, 0.0]))  # type: ignore[union-attr,operator]
    net[0].running_var.copy_(torch.tensor([4.0, 1.0]))  # type: ignore[union-attr,operator]
    net.train()
    own = replace(known(), flat=FlatModel(wrap(net, torch.zeros(2, 2))))
    told = from_fixed(vector_of("class_features", own)[3:]).reshape(3, 2)
    np.testing.assert_allclose(told, [[2.0, 7.25], [1.0, 0.125], [0.0, 0.0]], atol=1e-6)
    assert net[0].running_mean.tolist() == [1.0, 0.0]  # type: ignore[union-attr,operator]
