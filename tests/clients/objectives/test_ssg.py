"""The client's half of FedSSG in all its variants, with numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from clients.objectives.base import LocalRound
from clients.objectives.ssg import VARIANTS, Ssg, SsgParams
from tests.clients.objectives.rounds import a_round, close, finish, gradient_at, vec


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


def test_switches_are_read_from_text_as_the_command_line_gives_it() -> None:
    assert SsgParams(clip_gate="true").clip_gate is True  # type: ignore[arg-type]
    assert SsgParams(clip_gate="auto").clip_gate == "auto"
