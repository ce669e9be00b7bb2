"""FedProx: its gradient by hand, and nothing without mu or at the anchor."""

from __future__ import annotations

import pytest
import torch

from clients.objectives.prox import Prox, ProxParams
from tests.clients.objectives.rounds import fake_round


def test_prox_adds_mu_times_the_displacement() -> None:
    r = fake_round([1.0, -2.0, 0.5], [0.5, 0.0, 0.5])
    r.flat.grad += torch.tensor([10.0, 20.0, 30.0])
    Prox(ProxParams(mu=0.1)).correction(r)
    torch.testing.assert_close(r.flat.grad, torch.tensor([10.05, 19.8, 30.0]), rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize(("mu", "theta"), [(0.0, [1.0, 2.0]), (0.7, [0.1, 0.3])])
def test_prox_is_exactly_nothing_without_mu_or_at_the_anchor(mu: float, theta: list[float]) -> None:
    r = fake_round(theta, [0.1, 0.3])
    r.flat.grad += torch.tensor([0.123456, -7.0])
    Prox(ProxParams(mu=mu)).correction(r)
    assert torch.equal(r.flat.grad, torch.tensor([0.123456, -7.0]))


def test_prox_is_the_gradient_of_half_mu_squared_distance_and_takes_part_in_both_passes_of_sam() -> None:
    theta = torch.tensor([1.0, -2.0, 0.25], requires_grad=True)
    (0.3 / 2 * (theta - torch.tensor([0.0, 1.0, 2.0])).square().sum()).backward()  # type: ignore[no-untyped-call]
    r = fake_round(theta.tolist(), [0.0, 1.0, 2.0])
    Prox(ProxParams(mu=0.3)).correction(r)
    torch.testing.assert_close(r.flat.grad, theta.grad)
    assert Prox.every_pass
