"""How many plain steps a run of momentum steps is worth."""

from __future__ import annotations

import pytest

from clients.effective_steps import effective_steps


@pytest.mark.parametrize(
    ("steps", "rho", "expected"), [(7, 0.0, 7.0), (1, 0.9, 1.0), (2, 0.9, 2.9), (3, 0.5, 4.25), (0, 0.9, 0.0)]
)
def test_effective_steps_hand_computed(steps: int, rho: float, expected: float) -> None:
    assert effective_steps(steps, rho) == pytest.approx(expected, rel=1e-12)


def test_effective_steps_is_how_far_a_constant_gradient_carries_heavy_ball_sgd() -> None:
    theta, velocity = 0.0, 0.0
    for steps in range(1, 30):
        velocity = 0.8 * velocity + 1.0
        theta += velocity
        assert effective_steps(steps, 0.8) == pytest.approx(theta, rel=1e-12)


@pytest.mark.parametrize(("steps", "rho"), [(-1, 0.0), (3, 1.0), (3, -0.1)])
def test_effective_steps_refuses_what_has_no_meaning(steps: int, rho: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        effective_steps(steps, rho)
