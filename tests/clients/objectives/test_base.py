"""What holds for every objective: gradients, teachers, memory, parameters."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError

from clients.objectives.asd import Asd, AsdParams, asd_loss
from clients.objectives.dc import Dc, DcParams
from clients.objectives.decorr import DecorrParams, decorr_loss
from clients.objectives.dyn import Dyn, DynParams
from clients.objectives.moon import MoonParams, moon_loss
from clients.objectives.ntd import Ntd, NtdParams, ntd_loss
from clients.objectives.prox import ProxParams
from clients.objectives.scaffold import Scaffold, ScaffoldParams
from clients.objectives.speed import Speed
from clients.objectives.ssg import Ssg, SsgParams
from clients.objectives.vra import Vra, VraParams
from fl_config.params import Params
from tests.clients.objectives.rounds import (
    a_round,
    batch_of,
    close,
    drawn,
    fake_round,
    finish,
    gradient_at,
    outputs,
    vec,
)


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


@pytest.mark.parametrize(
    "objective", [Asd(AsdParams(lam=30.0)), Asd(AsdParams(lam=30.0, ntd=True)), Ntd(NtdParams(beta=30.0))]
)
def test_distillation_adds_no_gradient_at_the_received_model(objective: Asd | Ntd) -> None:
    weight = drawn(4, 5).requires_grad_()
    x, labels = drawn(6, 5, seed=1), [0, 1, 2, 3, 0, 0]
    logits = x @ weight.T
    r = fake_round([1.0], [1.0], {"anchor": outputs(logits.detach())}, label_probs=torch.tensor([0.5, 0.2, 0.2, 0.1]))
    cross_entropy = F.cross_entropy(logits, torch.tensor(labels))
    (base,) = torch.autograd.grad(cross_entropy, weight, retain_graph=True)
    extra = objective.loss(r, batch_of(outputs(logits), labels))
    assert extra is not None
    (total,) = torch.autograd.grad(cross_entropy + extra, weight)
    assert extra.item() == pytest.approx(0.0, abs=1e-13)
    torch.testing.assert_close(total, base, rtol=1e-12, atol=1e-13)


LABELS, PROBS = torch.tensor([0, 2, 1, 2]), torch.tensor([0.3, 0.1, 0.6], dtype=torch.float64)
LOSSES = {
    "moon": lambda x: moon_loss(x, drawn(4, 3, seed=1), drawn(4, 3, seed=2)),
    "ntd": lambda x: ntd_loss(x, drawn(4, 3, seed=1), LABELS, 2.0),
    "asd": lambda x: asd_loss(x, drawn(4, 3, seed=1), LABELS, PROBS),
    "asd_reverse": lambda x: asd_loss(x, drawn(4, 3, seed=1), LABELS, PROBS, divergence="reverse_kl"),
    "asd_js": lambda x: asd_loss(x, drawn(4, 3, seed=1), LABELS, PROBS, divergence="js", ntd=True),
    "decorr": decorr_loss,
    "decorr_wide": lambda x: decorr_loss(torch.cat([x, x**2, x.sin()], dim=1)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_equal_finite_differences(name: str) -> None:
    x = drawn(4, 3).requires_grad_()
    (gradient,) = torch.autograd.grad(LOSSES[name](x), x)
    assert gradient.abs().max() > 1e-6
    step = 1e-6
    for i in range(x.numel()):
        shift = torch.zeros(12, dtype=torch.float64)
        shift[i] = step
        up, down = (LOSSES[name](x.detach() + sign * shift.view(4, 3)).item() for sign in (1, -1))
        assert gradient.view(-1)[i].item() == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-8)


def test_no_gradient_reaches_a_teacher() -> None:
    student, teacher = drawn(4, 3).requires_grad_(), drawn(4, 3, seed=1).requires_grad_()
    total = moon_loss(student, teacher, teacher) + ntd_loss(student, teacher, LABELS)
    for divergence in ("kl", "reverse_kl", "js"):
        total = total + asd_loss(student, teacher, LABELS, PROBS, divergence=divergence)
    total.backward()  # type: ignore[no-untyped-call]
    assert teacher.grad is None
    assert student.grad is not None


def test_parameters_have_the_documented_defaults_ranges_and_descriptions() -> None:
    defaults: dict[type[Params], dict[str, Any]] = {
        ProxParams: {"mu": 0.01},
        MoonParams: {"mu": 1.0, "tau": 0.5},
        NtdParams: {"beta": 1.0, "tau": 1.0},
        DecorrParams: {"lam": 0.1},
        AsdParams: {"lam": "auto", "tau": 2.0, "entropy_temp": 1.0, "b1": 1.0, "b2": 1.0, "uniform": False,
                    "divergence": "kl", "ntd": False},
    }  # fmt: skip
    for kind, expected in defaults.items():
        assert kind().model_dump() == expected
        assert all(field.description for field in kind.model_fields.values())
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (ProxParams, {"mu": -1}),
        (MoonParams, {"tau": 0}),
        (NtdParams, {"tau": 0}),
        (DecorrParams, {"lam": math.nan}),
        (AsdParams, {"lam": -1}),
        (AsdParams, {"lam": "much"}),
        (AsdParams, {"divergence": "l2"}),
        (AsdParams, {"mu": 1}),
    ]
    for kind, values in wrong:
        with pytest.raises(ValidationError):
            kind(**values)
