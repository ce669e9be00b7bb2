"""The server's half of FedSSG: its gates, its counts, what it sends, with numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clients.objectives.ssg import SsgParams
from fl_strategies.round.cohort import Population
from fl_strategies.server_update.ssg import DivergedError, Ssg, gate
from tests.fl_strategies.server_update.drift_cohort import AVERAGED, OMEGA, UPDATES, cohort, settings


@pytest.mark.parametrize(
    ("params", "first", "after_100"),
    [
        ({}, 1.01, 2.0),
        ({"variant": "main", "clip_gate": False}, 10.0, 1.0),
        ({"variant": "main"}, 1.0, 1.0),
        ({"variant": "appendix"}, 0.01, 1.0),
        ({"gate": "one"}, 1.0, 1.0),
        ({"gate": "horizon"}, 0.01, 1.0),
        ({"gate": "ratio"}, 10.0, 1.0),
        ({"variant": "appendix", "gate": "horizon+1"}, 1.01, 2.0),
        ({"clip_gate": True}, 1.0, 1.0),
    ],
)
def test_gate_at_the_first_round_and_after_100_of_1000(params: dict[str, Any], first: float, after_100: float) -> None:
    p = SsgParams(**params)
    assert gate(p, 1, settings(round=1)) == pytest.approx(first, rel=2e-5)
    assert gate(p, 100, settings(round=1000)) == pytest.approx(after_100, rel=2e-5)


def test_main_gate_is_exactly_the_paper_ratio() -> None:
    assert gate(SsgParams(variant="main", eps=0.5, clip_gate=False), 3, settings(round=20)) == pytest.approx(3 / 2.5)


def test_ssg_counts_only_aggregated_replies() -> None:
    step, c = Ssg(SsgParams()), cohort()
    state = step.init(2)
    gates = []
    for t in (1, 2, 3):
        s = settings(round=t, rounds=10, fraction=0.5)
        gates.append(step.scalars(state, 0, c.population, s)["gate"])
        step.scalars(state, 1, c.population, s)  # sampled, but its reply never comes
        _, state = step.drift(OMEGA, AVERAGED.astype(np.float32), c, state, s)
    np.testing.assert_allclose(gates, [1.2, 1.4, 1.6])
    assert step.counts(state) == {0: 3, 2: 3}
    assert step.scalars(state, 1, c.population, s)["gate"] == pytest.approx(1.2)
    np.testing.assert_allclose(state["H"], (1.2 + 1.4 + 1.6) * UPDATES.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(
        step.metrics(state)["ssg/memory_norm"], np.linalg.norm(4.2 * UPDATES.sum(axis=0)) / 4, rtol=1e-6
    )


def test_named_clients_are_counted_and_a_state_is_never_written_into() -> None:
    step, c = Ssg(SsgParams()), cohort()
    c.ids = ["Krankenhaus Köln", "late"]
    c.population = Population({0: 10, "Krankenhaus Köln": 30, "late": 20})
    states = [step.init(2)]
    for t in (1, 2):
        states.append(step.drift(OMEGA, AVERAGED.astype(np.float32), c, states[-1], settings(round=t))[1])
    counts = [{}, {"Krankenhaus Köln": 1, "late": 1}, {"Krankenhaus Köln": 2, "late": 2}]
    assert [step.counts(state) for state in states] == counts


def test_ssg_appendix_sends_the_last_global_move_and_its_rate() -> None:
    step, c = Ssg(SsgParams(variant="appendix")), cohort()
    state = step.init(2)
    np.testing.assert_array_equal(step.broadcast(state)["move"], [0, 0])
    new_omega, state = step.drift(OMEGA, AVERAGED.astype(np.float32), c, state, settings(lr=0.07))
    np.testing.assert_array_equal(step.broadcast(state)["move"], new_omega - OMEGA)
    assert step.scalars(state, 0, c.population, settings())["move_lr"] == 0.07
    np.testing.assert_allclose(new_omega, AVERAGED + np.array([2, 0]))


def test_ssg_says_so_when_its_memory_overflows() -> None:
    step = Ssg(SsgParams())
    state = {**step.init(2), "H": np.array([1e40, 0.0])}
    with pytest.raises(DivergedError, match="round 7"), np.errstate(over="ignore"):
        step.drift(OMEGA, OMEGA, cohort(), state, settings(round=7))
