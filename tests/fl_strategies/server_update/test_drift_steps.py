"""The server's half of the drift-correcting methods: pure functions and gates with numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clients.objectives.dc import DcParams
from clients.objectives.dyn import DynParams
from clients.objectives.scaffold import ScaffoldParams
from clients.objectives.ssg import SsgParams
from clients.objectives.vra import VraParams
from clients.optimizers import SpeedParams
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.server_update.base import RoundSettings
from fl_strategies.server_update.dc import Dc, dc
from fl_strategies.server_update.dyn import Dyn, Speed, dyn
from fl_strategies.server_update.scaffold import Scaffold, scaffold
from fl_strategies.server_update.ssg import DivergedError, Ssg, gate, read_counts, ssg, write_counts
from fl_strategies.server_update.vra import Vra, vra

OMEGA = np.array([1, 2], dtype=np.float32)
UPDATES = np.array([[2, 4], [-1, 0]], dtype=np.float32)
WEIGHTS = np.array([0.25, 0.75])
AVERAGED = OMEGA + np.array([0.25 * 2 - 0.75, 1.0])  # (0.75, 3)
EXTRA = np.array([[1, 1], [3, -1]], dtype=np.float32)
Q = np.array([0.5, 1.5])


def settings(**changes: Any) -> RoundSettings:
    base: dict[str, Any] = {"round": 1, "rounds": 1000, "fraction": 0.1, "epochs": 5, "batch_size": 50, "lr": 0.09}
    return RoundSettings(**{**base, "initial_lr": 0.1, **changes})


def cohort(**changes: Any) -> Cohort:
    """Clients 0 and 2 of four; q = (0.5, 1.5)."""
    population = Population({0: 10, 1: 20, 2: 30, "late": 20})
    base: dict[str, Any] = {"round": 1, "ids": [0, 2], "sizes": np.array([10.0, 30.0]), "updates": UPDATES}
    return Cohort(
        **{**base, "population": population, "extras": {"delta_c": EXTRA, "delta_s": EXTRA, "h": EXTRA}, **changes}
    )


def test_dyn_adds_the_mean_memory_of_the_whole_population() -> None:
    omega, state = dyn(OMEGA, UPDATES, WEIGHTS, {"H": np.array([1.0, -2.0])}, num_clients=4)
    np.testing.assert_allclose(state["H"], [2, 2])
    np.testing.assert_allclose(omega, AVERAGED + np.array([2, 2]) / 4)
    assert omega.dtype == np.float32 and state["H"].dtype == np.float64


def test_vra_divides_the_dual_variables() -> None:
    omega, state = vra(OMEGA, UPDATES, WEIGHTS, {"Lambda": np.zeros(2)}, num_clients=4, gamma=0.1, a=7, d=10)
    np.testing.assert_allclose(state["Lambda"], [0.7, 2.8])
    np.testing.assert_allclose(omega, AVERAGED + np.array([0.7, 2.8]) / 40, rtol=1e-6)


def test_scaffold_moves_c_by_the_population_mean() -> None:
    state = {"c": np.array([1.0, 1.0])}
    omega, plain = scaffold(OMEGA, UPDATES, WEIGHTS, state, delta_c=EXTRA, num_clients=4)
    _, scaled = scaffold(OMEGA, UPDATES, WEIGHTS, state, delta_c=EXTRA, num_clients=4, relative_sizes=Q)
    np.testing.assert_allclose(omega, AVERAGED)
    np.testing.assert_allclose(plain["c"], [2, 1])
    np.testing.assert_allclose(scaled["c"], [1 + (0.5 + 4.5) / 4, 1 + (0.5 - 1.5) / 4])


def test_dc_and_ssg_by_hand() -> None:
    state = {"H": np.array([1.0, -2.0]), "s": np.array([1.0, 1.0])}
    keywords: dict[str, Any] = {"delta_s": EXTRA, "relative_sizes": Q, "num_clients": 4}
    omega, new = dc(OMEGA, UPDATES, WEIGHTS, state, **keywords)
    np.testing.assert_allclose(new["H"], [2, 2])
    np.testing.assert_allclose(new["s"], [2.25, 0.75])
    np.testing.assert_allclose(omega, AVERAGED + 0.5)
    omega, new = ssg(OMEGA, UPDATES, WEIGHTS, state, gates=np.array([1.5, 2.0]), **keywords)
    np.testing.assert_allclose(new["H"], [1 + 3 - 2, -2 + 6])
    np.testing.assert_allclose(new["s"], [2.25, 0.75])
    np.testing.assert_allclose(omega, AVERAGED + np.array([0.5, 1.0]))
    omega, new = ssg(OMEGA, UPDATES, WEIGHTS, state, gates=np.array([1.5, 2.0]), memories=EXTRA, num_clients=4)
    np.testing.assert_allclose(omega, AVERAGED + np.array([2, 0]))  # uniform over the cohort, whatever the weights
    np.testing.assert_allclose(new["s"], state["s"])


@pytest.mark.parametrize(
    ("function", "state", "keywords"),
    [
        (dyn, {"H": np.zeros(2)}, {}),
        (vra, {"Lambda": np.zeros(2)}, {"gamma": 0.1, "a": 7.0, "d": 10.0}),
        (scaffold, {"c": np.zeros(2)}, {"delta_c": EXTRA}),
        (dc, {"H": np.zeros(2), "s": np.zeros(2)}, {"delta_s": EXTRA, "relative_sizes": Q}),
        (ssg, {"H": np.zeros(2), "s": np.zeros(2)}, {"gates": np.ones(2), "delta_s": EXTRA, "relative_sizes": Q}),
    ],
)
def test_functions_are_pure_and_take_the_optimisers_result(
    function: Any, state: dict[str, Any], keywords: dict[str, Any]
) -> None:
    before = {name: value.copy() for name, value in state.items()}
    plain, new = function(OMEGA, UPDATES, WEIGHTS, state, num_clients=4, **keywords)
    shifted, other = function(
        OMEGA, UPDATES, WEIGHTS, state, num_clients=4, averaged=(AVERAGED + 1).astype(np.float32), **keywords
    )
    np.testing.assert_allclose(shifted, plain + 1, rtol=1e-6)
    uniform, same = function(OMEGA, UPDATES, np.array([0.5, 0.5]), state, num_clients=4, **keywords)
    assert not np.allclose(uniform, plain)
    for name, value in before.items():
        np.testing.assert_array_equal(state[name], value)
        np.testing.assert_array_equal(new[name], other[name])
        np.testing.assert_array_equal(new[name], same[name])  # weights never reach the running sums
        assert new[name].dtype == np.float64 and not np.array_equal(new[name], value)


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
    assert read_counts(state) == {0: 3, 2: 3}
    assert step.scalars(state, 1, c.population, s)["gate"] == pytest.approx(1.2)
    np.testing.assert_allclose(state["H"], (1.2 + 1.4 + 1.6) * UPDATES.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(
        step.metrics(state)["ssg/memory_norm"], np.linalg.norm(4.2 * UPDATES.sum(axis=0)) / 4, rtol=1e-6
    )


def test_counts_survive_plain_arrays_and_tell_numbers_from_names() -> None:
    counts = {3: 2, "3": 7, "Krankenhaus Köln": 1}
    stored = write_counts(counts)
    assert all(array.dtype.kind in "iu" and array.dtype != object for array in stored.values())
    assert read_counts({name: array.copy() for name, array in stored.items()}) == counts
    assert read_counts(write_counts({})) == {}


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


@pytest.mark.parametrize(
    ("step", "arrays", "numbers", "uploads"),
    [
        (Dyn(DynParams()), set(), {"q": 0.5}, ()),
        (Speed(SpeedParams()), set(), {}, ()),
        (Vra(VraParams()), set(), {}, ()),
        (Scaffold(ScaffoldParams()), {"c"}, {}, ("delta_c",)),
        (Scaffold(ScaffoldParams(size_scaled=True)), {"c"}, {"q": 0.5, "steps": 10}, ("delta_c",)),
        (Dc(DcParams()), {"s"}, {"q": 0.5, "steps": 10}, ("delta_s",)),
        (Ssg(SsgParams()), {"s"}, {"q": 0.5, "steps": 10, "gate": 1.01}, ("delta_s",)),
        (Ssg(SsgParams(variant="main")), set(), {"q": 0.5, "steps": 10, "gate": 1}, ()),
        (Ssg(SsgParams(server="cohort")), {"s"}, {"q": 0.5, "steps": 10, "gate": 1.01}, ("delta_s", "h")),
        (Ssg(SsgParams(variant="appendix")), {"move"}, {"q": 0.5, "steps": 10, "gate": 0.01, "move_lr": 1}, ("h",)),
    ],
)
def test_what_goes_down_and_must_come_up(
    step: Any, arrays: set[str], numbers: dict[str, float], uploads: tuple[str, ...]
) -> None:
    state = step.init(2)
    sent = step.broadcast(state)
    assert set(sent) == arrays and all(a.dtype == np.float32 and a.shape == (2,) for a in sent.values())
    given = step.scalars(state, 0, cohort().population, settings(batch_size=10))  # mean size 20: K = 5 * 2
    assert given == pytest.approx(numbers)
    assert step.uploads() == uploads
    omega, new = step.drift(OMEGA, AVERAGED.astype(np.float32), cohort(), state, settings())
    assert omega.dtype == np.float32 and set(new) == set(state)


def test_full_batch_means_one_step_an_epoch() -> None:
    for step in (Dc(DcParams()), Ssg(SsgParams()), Scaffold(ScaffoldParams(size_scaled=True))):
        assert step.scalars(step.init(2), 0, cohort().population, settings(batch_size=0))["steps"] == 5


def test_steps_use_the_sizes_that_the_clients_were_told() -> None:
    step, wrong = Dc(DcParams()), cohort(sizes=np.array([999.0, 1.0]))
    _, state = step.drift(OMEGA, OMEGA, wrong, step.init(2), settings())
    np.testing.assert_allclose(state["s"], (0.5 * EXTRA[0] + 1.5 * EXTRA[1]) / 4)
