"""MOON against hand-computed numbers, a NumPy oracle and its limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from clients.objectives.moon import Moon, MoonParams, moon_loss
from tests.clients.objectives.rounds import LOG2, batch_of, drawn, fake_round, outputs


def test_moon_hand_computed() -> None:
    # cos(z, z_g) = 1 and 0, cos(z, z_p) = 0 and 1: softplus(-2) and softplus(2) at tau 0.5.
    z = torch.tensor([[2.0, 0.0], [3.0, 0.0]], dtype=torch.float64)
    z_global = torch.tensor([[5.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    z_previous = torch.tensor([[0.0, 4.0], [0.5, 0.0]], dtype=torch.float64)
    assert moon_loss(z, z_global, z_previous).item() == pytest.approx((0.1269280110 + 2.1269280110) / 2, abs=1e-9)


@pytest.mark.parametrize("tau", [0.5, 0.07])
def test_moon_is_cross_entropy_over_the_two_cosines(tau: float) -> None:
    z, z_global, z_previous = (drawn(5, 7, seed=s) for s in range(3))
    a, b, c = z.numpy(), z_global.numpy(), z_previous.numpy()
    positive = np.exp((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1) / tau)
    negative = np.exp((a * c).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(c, axis=1) / tau)
    expected = np.mean(-np.log(positive / (positive + negative)))
    assert moon_loss(z, z_global, z_previous, tau).item() == pytest.approx(expected, rel=1e-12)


def test_moon_limits() -> None:
    z, other = drawn(4, 3), drawn(4, 3, seed=1)
    assert moon_loss(z, other, None).item() == 0.0
    assert moon_loss(z, other, other).item() == pytest.approx(LOG2, rel=1e-12)
    assert math.isfinite(moon_loss(z, -z, z, tau=1e-4).item())
    assert torch.isfinite(moon_loss(torch.zeros(1, 3), torch.ones(1, 3), torch.ones(1, 3)))


def test_moon_objective_compares_with_anchor_and_previous_and_remembers_the_trained_model() -> None:
    z, z_global, z_previous = (drawn(2, 3, seed=s) for s in range(3))
    r = fake_round([3.0, 4.0], [1.0, 2.0], {"anchor": outputs(z_global), "previous": outputs(z_previous)})
    moon, batch = Moon(MoonParams(mu=0.1, tau=0.4)), batch_of(outputs(z), [0, 1])
    assert moon.loss(r, batch) is None
    moon.end_round(r)
    assert torch.equal(r.state["previous"], torch.tensor([3.0, 4.0]))
    r.flat.theta.zero_()
    assert torch.equal(r.state["previous"], torch.tensor([3.0, 4.0])), "the state must not be a view of the model"
    loss = moon.loss(r, batch)
    assert loss is not None
    assert loss.item() == pytest.approx(0.1 * moon_loss(z, z_global, z_previous, 0.4).item(), rel=1e-12)
    assert Moon(MoonParams(mu=0.0)).loss(r, batch) is None
