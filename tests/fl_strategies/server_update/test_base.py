"""What holds for every drift-correcting step: pure functions, what goes down, what must come up."""

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
from fl_strategies.server_update.dc import Dc, dc
from fl_strategies.server_update.dyn import Dyn, Speed, dyn
from fl_strategies.server_update.scaffold import Scaffold, scaffold
from fl_strategies.server_update.ssg import Ssg, ssg
from fl_strategies.server_update.vra import Vra, vra
from tests.fl_strategies.server_update.drift_cohort import AVERAGED, EXTRA, OMEGA, UPDATES, WEIGHTS, Q, cohort, settings


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
