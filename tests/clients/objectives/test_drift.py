"""One client's round of the drift-correcting objectives, with numbers worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from clients.objectives.base import LocalRound
from clients.objectives.dc import Dc, DcParams
from clients.objectives.dyn import Dyn, DynParams
from clients.objectives.scaffold import Scaffold, ScaffoldParams
from clients.objectives.speed import Speed
from clients.objectives.ssg import VARIANTS, Ssg, SsgParams
from clients.objectives.vra import Vra, VraParams
from clients.optimizers import SpeedParams

torch.set_num_threads(1)


def vec(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


def a_round(**changes: Any) -> LocalRound:
    """omega = (1, 2), q = 2, gate 1.5, K = 4, eta_t = 0.25, eta_0 = 0.5."""
    fields: dict[str, Any] = dict.fromkeys(LocalRound.__dataclass_fields__)
    fields |= {"round": 3, "anchor": vec(1, 2), "flat": SimpleNamespace(theta=vec(1, 2), grad=vec(0, 0))}
    fields |= {"lr": 0.25, "initial_lr": 0.5, "epochs": 2, "momentum": 0.0, "state": {}, "extra": {}, "reply": {}}
    fields |= {"scalars": {"q": 2.0, "gate": 1.5, "steps": 4.0, "move_lr": 0.3}, "metrics": {}, "steps": 0}
    return LocalRound(**{**fields, **changes})


def gradient_at(objective: Any, r: LocalRound, theta: Tensor) -> Tensor:
    """The gradient that the objective adds at theta, weight decay of its own included."""
    r.flat.theta, r.flat.grad = theta, torch.zeros(2)
    objective.correction(r)
    return r.flat.grad + objective.extra_decay * theta


def finish(objective: Any, r: LocalRound, theta: Tensor, steps: int = 8) -> None:
    r.flat.theta, r.steps = theta, steps
    objective.end_round(r)


def close(given: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(given, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("prox_in_wd", [True, False])
@pytest.mark.parametrize(
    ("kind", "values", "strength"), [(Dyn, DynParams(alpha=0.4), 0.2), (Speed, SpeedParams(lam=0.4), 0.4)]
)
def test_dyn_and_speed_pull_towards_the_shifted_anchor(
    kind: Any, values: Any, strength: float, prox_in_wd: bool
) -> None:
    r = a_round(state={"h": vec(1, -1)})
    objective = kind(values.model_copy(update={"prox_in_wd": prox_in_wd}))
    objective.begin_round(r)
    # theta - omega + h = (3, 5) - (1, 2) + (1, -1) = (3, 2)
    close(gradient_at(objective, r, vec(3, 5)), strength * vec(3, 2))
    assert objective.extra_decay == pytest.approx(strength if prox_in_wd else 0.0)
    finish(objective, r, vec(3, 5))
    close(r.state["h"], vec(3, 2))
    assert r.reply == {}


def test_vra_adds_the_dual_variable_and_the_penalty() -> None:
    r = a_round(state={"lambda": vec(0.5, -0.5)})
    objective = Vra(VraParams(gamma=0.1, a=7, d=10))
    objective.begin_round(r)
    close(gradient_at(objective, r, vec(3, 5)), vec(0.5 + 0.1 * 2, -0.5 + 0.1 * 3))
    finish(objective, r, vec(3, 5))
    close(r.state["lambda"], vec(0.5 + 0.7 * 2, -0.5 + 0.7 * 3))


@pytest.mark.parametrize(
    ("params", "momentum", "shift", "divisor"),
    [
        ({}, 0.0, vec(2 - 1, 4 + 1), 8 * 0.25),
        ({"lr_in_cv": "initial"}, 0.0, vec(2 - 1, 4 + 1), 8 * 0.5),
        ({"size_scaled": True}, 0.0, vec(1 - 1, 2 + 1), 4 * 0.5),
        ({"size_scaled": True, "lr_in_cv": "current"}, 0.0, vec(1 - 1, 2 + 1), 4 * 0.25),
        # K' of 8 steps with momentum 1/2: [8 - (1 - 2^-8)] * 2
        ({}, 0.5, vec(2 - 1, 4 + 1), 2 * (7 + 2**-8) * 0.25),
    ],
)
def test_scaffold_shifts_the_gradient_and_estimates_its_mean(
    params: dict[str, Any], momentum: float, shift: Tensor, divisor: float
) -> None:
    r = a_round(state={"c": vec(1, -1)}, extra={"c": vec(2, 4)}, momentum=momentum)
    objective = Scaffold(ScaffoldParams(**params))
    objective.begin_round(r)
    close(gradient_at(objective, r, vec(3, 5)), shift)
    finish(objective, r, vec(3, 5))
    change = -vec(2, 4) - vec(2, 3) / divisor  # the plain c is subtracted, in the size-scaled form too
    close(r.reply["delta_c"], change)
    close(r.state["c"], vec(1, -1) + change)


@pytest.mark.parametrize(
    ("lr_in_cv", "momentum", "divisor"),
    [("initial", 0.0, 2.0), ("current", 0.0, 1.0), ("initial", 0.5, 2 * (3 + 2**-4) * 0.5)],
)
def test_dc_by_hand(lr_in_cv: Any, momentum: float, divisor: float) -> None:
    r = a_round(state={"h": vec(1, -1), "s": vec(0.5, 0)}, extra={"s": vec(2, 4)}, momentum=momentum)
    objective = Dc(DcParams(alpha=0.4, lr_in_cv=lr_in_cv))
    objective.begin_round(r)
    close(gradient_at(objective, r, vec(3, 5)), 0.2 * vec(3, 2) + vec(1 - 0.5, 2))
    finish(objective, r, vec(3, 5))
    change = -vec(1, 2) - vec(2, 3) / divisor
    close(r.reply["delta_s"], change)
    close(r.state["s"], vec(0.5, 0) + change)
    close(r.state["h"], vec(3, 2))
    assert objective.extra_decay == 0  # the whole term is inside the clip


def ssg_round(**changes: Any) -> LocalRound:
    state = {"h": vec(1, -1), "s": vec(0.5, 0), "move": vec(0.25, 0.5)}
    return a_round(state=state, extra={"s": vec(2, 4), "move": vec(2, 4)}, **changes)


def test_ssg_code_by_hand() -> None:
    r = ssg_round()
    objective = Ssg(SsgParams(alpha=0.4))
    objective.begin_round(r)
    for theta in (vec(3, 5), vec(-7, 0)):  # a constant vector for the whole round
        close(gradient_at(objective, r, theta), 0.2 * vec(1, -1) + vec(1 - 0.5, 2))
    finish(objective, r, vec(3, 5))
    change = -vec(1, 2) - 1.5 * vec(2, 3) / (4 * 0.5)
    close(r.reply["delta_s"], change)
    close(r.state["s"], vec(0.5, 0) + change)
    close(r.state["h"], vec(1, -1) + 1.5 * vec(2, 3))
    assert set(r.reply) == {"delta_s"}


def test_ssg_main_by_hand() -> None:
    r = ssg_round()
    objective = Ssg(SsgParams(variant="main", alpha=0.4))
    objective.begin_round(r)
    close(gradient_at(objective, r, vec(3, 5)), 0.4 * 1.5 * vec(3, 2))
    finish(objective, r, vec(3, 5))
    close(r.state["h"], vec(1, -1) + 1.5 * vec(2, 3))
    close(r.state["s"], vec(0.5, 0))
    assert r.reply == {}


@pytest.mark.parametrize(("lr_in_cv", "lr"), [("auto", 0.3), ("current", 0.3), ("initial", 0.5)])
def test_ssg_appendix_by_hand(lr_in_cv: Any, lr: float) -> None:
    r = ssg_round()
    objective = Ssg(SsgParams(variant="appendix", alpha=0.4, lr_in_cv=lr_in_cv))
    objective.begin_round(r)
    # the remembered move is already a step's mean, the global one is divided by K = 4
    close(gradient_at(objective, r, vec(3, 5)), 0.4 * vec(1, -1) + vec(0.25 - 0.5, 0.5 - 1.0) / lr)
    finish(objective, r, vec(3, 5))
    close(r.state["h"], vec(1, -1) + 1.5 * vec(2, 3))
    close(r.state["move"], vec(2, 3) / 4)
    assert set(r.reply) == {"h"} and torch.equal(r.reply["h"], r.state["h"])


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"penalty": "none"}, vec(0.5, 2)),
        ({"correction": "none"}, 0.2 * vec(1, -1)),
        ({"penalty": "none", "correction": "none"}, vec(0, 0)),
        ({"correction": "none", "size_scaled": False}, 0.4 * vec(1, -1)),
        ({"correction": "none", "gate_penalty": True}, 0.3 * vec(1, -1)),
        ({"correction": "none", "penalty": "prox"}, 0.2 * vec(3, 2)),
        ({"correction": "none", "penalty": "prox", "gate_penalty": True}, 0.3 * vec(3, 2)),
        ({"variant": "main", "correction": "feddc_state"}, 0.6 * vec(3, 2) + vec(0.5, 2)),
        ({"variant": "main", "gate_penalty": False}, 0.4 * vec(3, 2)),
    ],
)
def test_ssg_switches_are_independent_of_the_variant(params: dict[str, Any], expected: Tensor) -> None:
    r = ssg_round()
    objective = Ssg(SsgParams(alpha=0.4, **params))
    objective.begin_round(r)
    close(gradient_at(objective, r, vec(3, 5)), expected)


def test_ssg_counts_its_own_steps_on_demand() -> None:
    r = ssg_round()
    objective = Ssg(SsgParams(K_mode="actual"))
    objective.begin_round(r)
    finish(objective, r, vec(3, 5), steps=8)
    close(r.reply["delta_s"], -vec(1, 2) - 1.5 * vec(2, 3) / (8 * 0.5))


def test_ssg_auto_takes_the_variant_and_nothing_stays_auto() -> None:
    for variant, choices in VARIANTS.items():
        resolved = SsgParams(variant=variant).resolved()  # type: ignore[arg-type]
        assert {name: getattr(resolved, name) for name in choices} == choices
        assert "auto" not in resolved.model_dump().values()
        assert resolved.resolved() == resolved
    assert SsgParams(variant="main", clip_gate=False, gate="one").resolved().clip_gate is False


@pytest.mark.parametrize("kind", [Dyn, Speed, Vra, Scaffold, Dc, Ssg])
def test_state_is_replaced_and_never_changed_in_place(kind: Any) -> None:
    names = {"h": vec(1, -1), "s": vec(0.5, 0), "c": vec(1, 1), "lambda": vec(2, 2)}
    before = {name: value.clone() for name, value in names.items()}
    extra = {"c": vec(2, 4), "s": vec(2, 4)}
    r = a_round(state=dict(names), extra=dict(extra))
    objective = kind(kind.Params())
    objective.begin_round(r)
    gradient_at(objective, r, vec(3, 5))
    finish(objective, r, vec(3, 5))
    assert any(r.state[name] is not names[name] for name in names)
    assert all(torch.equal(names[name], before[name]) for name in names)
    assert (
        torch.equal(r.anchor, vec(1, 2)) and torch.equal(extra["s"], vec(2, 4)) and torch.equal(extra["c"], vec(2, 4))
    )
    for value in (*r.state.values(), *r.reply.values()):
        assert value.data_ptr() not in (r.anchor.data_ptr(), r.flat.theta.data_ptr()) and value.dtype == torch.float32


@pytest.mark.parametrize("kind", [Dyn, Speed, Vra, Scaffold, Dc, Ssg])
def test_first_participation_starts_from_zero_memory(kind: Any) -> None:
    r = a_round(extra={"c": vec(0, 0), "s": vec(0, 0)})
    objective = kind(kind.Params())
    objective.begin_round(r)
    close(gradient_at(objective, r, vec(1, 2)), vec(0, 0))  # at theta = omega nothing pulls yet


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (DynParams, {"alpha": -0.1}),
        (DcParams, {"lr_in_cv": "last"}),
        (VraParams, {"d": 0}),
        (ScaffoldParams, {"lr": 0.1}),
        (SsgParams, {"variant": "paper"}),
        (SsgParams, {"clip_gate": "sometimes"}),
        (SsgParams, {"eps": 0}),
    ],
)
def test_parameters_outside_their_range_are_refused(kind: Any, values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind(**values)


def test_switches_are_read_from_text_as_the_command_line_gives_it() -> None:
    assert SsgParams(clip_gate="true").clip_gate is True  # type: ignore[arg-type]
    assert SsgParams(clip_gate="auto").clip_gate == "auto"
