"""The parts of a recipe at work in one round: in their order, each with its own state, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_strategies.recipes import parameters, parse
from fl_strategies.round.state import RunState
from fl_strategies.round.weave import AVERAGE, Weave
from fl_strategies.weighting.base import Weighed, Weighting
from tests.fl_strategies.server_update.drift_cohort import AVERAGED, OMEGA, UPDATES, cohort, settings


def woven(strategy: str, **parts: Any) -> Weave:
    recipe = parse(strategy)
    return Weave(recipe, parameters(recipe, {key.replace("__", "."): value for key, value in parts.items()}), None)


def begun(weave: Weave) -> RunState:
    return RunState(0, OMEGA, {}, weave.init(2))


class Recorded(Weighting):
    """All weight on the second client; counts in its state how often it was asked."""

    def __init__(self, decides: bool = True, customises: bool = False, keeps: bool = False) -> None:
        super().__init__(None)
        self.says = decides, customises, keeps

    def weights(self, cohort: Any, state: Any, server: Any) -> Weighed:
        return np.array([0.0, 1.0]), {"asked": state.get("asked", np.zeros(1)) + 1}, {"mine": 1.0}

    def decides(self, round: int) -> bool:
        return self.says[0]

    def customises(self, round: int, last_round: int) -> bool:
        return self.says[1] and round == last_round

    def keeps_models(self, round: int, last_round: int) -> bool:
        return self.says[2] and round == last_round


def test_plain_averaging_by_hand() -> None:
    weave = woven("fedavg")
    state = begun(weave)
    weights, metrics = weave.step(state, cohort(), settings(), 1)
    assert weights.tolist() == [0.25, 0.75] and metrics == {}
    np.testing.assert_allclose(state.omega, AVERAGED)
    assert weave.optimizer == AVERAGE and OMEGA.tolist() == [1, 2]


def test_the_optimiser_comes_before_the_correction_of_drift() -> None:
    """Round 2 of momentum 0.5 on top of FedDyn: omega + D + 0.5 D, and the memory of both rounds over four clients."""
    weave = woven("feddyn+size+avgm", avgm__beta=0.5)
    state = begun(weave)
    weave.step(state, cohort(), settings(round=1), 2)
    memory = UPDATES.sum(axis=0)
    first = AVERAGED + memory / 4
    np.testing.assert_allclose(state.omega, first)
    weave.step(state, cohort(), settings(round=2), 2)
    np.testing.assert_allclose(state.omega, first + 1.5 * (AVERAGED - OMEGA) + 2 * memory / 4, rtol=1e-6)
    np.testing.assert_allclose(state.of("dyn")["H"], 2 * memory)


def test_normalised_updates_are_what_the_optimiser_sees() -> None:
    weave = woven("fednova")
    state = begun(weave)
    weave.step(state, cohort(metrics={"local_weight": np.array([2.0, 2.0])}), settings(), 1)
    np.testing.assert_allclose(state.omega, AVERAGED, rtol=1e-6)  # equal steps change nothing
    other = begun(weave)
    weave.step(other, cohort(metrics={"local_weight": np.array([1.0, 2.0])}), settings(), 1)
    # tau = 0.25 * 1 + 0.75 * 2 = 1.75: updates 1.75 / 1 and 1.75 / 2.
    np.testing.assert_allclose(other.omega, OMEGA + 0.25 * 1.75 * UPDATES[0] + 0.75 * 0.875 * UPDATES[1], rtol=1e-6)


def test_every_parts_state_is_replaced_and_never_changed() -> None:
    weave = woven("feddyn+avgm")
    state = begun(weave)
    before = {part: dict(own) for part, own in state.parts.items()}
    parts, copies = state.parts, {name: value.copy() for name, value in state.of("dyn").items()}
    weave.step(state, cohort(), settings(), 1)
    assert parts is not state.parts and {part: dict(own) for part, own in parts.items()} == before
    assert all(np.array_equal(before["dyn"][name], value) for name, value in copies.items())
    assert not np.array_equal(state.of("dyn")["H"], copies["H"])


def test_a_weighting_that_does_not_decide_leaves_the_bases_own_weights_and_no_state() -> None:
    weave = woven("scaffold+disco")
    weave.weighting = Recorded(decides=False)
    state = begun(weave)
    weights, metrics = weave.step(state, cohort(extras={"delta_c": np.zeros((2, 2), dtype=np.float32)}), settings(), 1)
    assert weights.tolist() == [0.5, 0.5] and "mine" not in metrics and "disco" not in state.parts
    weave.weighting = Recorded()
    weights, metrics = weave.step(state, cohort(extras={"delta_c": np.zeros((2, 2), dtype=np.float32)}), settings(), 1)
    assert weights.tolist() == [0, 1] and metrics["mine"] == 1 and state.of("disco")["asked"].tolist() == [1]


def test_a_customised_model_stands_beside_the_one_that_goes_out() -> None:
    weave = woven("feddisco")
    weave.weighting = Recorded(decides=False, customises=True, keeps=True)
    state = begun(weave)
    weave.step(state, cohort(), settings(round=1), 2)
    assert state.customised is None and state.client_models == {}
    sent = state.omega
    weave.step(state, cohort(), settings(round=2), 2)
    assert state.customised is not None and state.customised.dtype == np.float32
    np.testing.assert_allclose(state.customised, sent + UPDATES[1])  # of what the clients got, not of what came of it
    np.testing.assert_allclose(state.omega, sent + (AVERAGED - OMEGA), rtol=1e-6)
    assert {client: model.tolist() for client, model in state.client_models.items()} == {
        0: (sent + UPDATES[0]).tolist(),
        2: (sent + UPDATES[1]).tolist(),
    }
    assert weave.served(state) is state.customised
    assert set(weave.models_to_evaluate(state)) == {"global", "outgoing"}
    assert weave.models_to_evaluate(state)["outgoing"] is state.omega


def test_a_model_that_is_no_longer_finite_ends_the_run_with_a_sentence() -> None:
    weave = woven("fedavg")
    wild = np.array([[np.inf, 0], [0, 0]], dtype=np.float32)
    with pytest.raises(ConfigError, match="no longer finite after round 6: lower --lr, or set --clip"):
        weave.step(begun(weave), cohort(updates=wild), settings(round=6), 9)


def test_what_clients_are_asked_and_told() -> None:
    weave = woven("feddisco+asd", disco__target="global", asd__lam=3.0)
    questions = weave.questions()
    assert (questions.part, questions.sums) == ("disco", ("class_counts",))
    assert questions.asks({"class_counts": np.array([1, 3])}) == {
        "discrepancy": {"metric": "kl", "target": [0.25, 0.75]}
    }
    name, values = weave.named("asd")
    assert name == "asd" and values["lam"] == 3.0
    assert weave.named("sgd") == ("sgd", {})
    assert woven("afl").report == ["initial_loss"] and weave.report == []
    assert woven("scaffold").uploads() == ("delta_c",) and weave.uploads() == ()


def test_what_a_method_needs_is_known_before_anybody_trains() -> None:
    with pytest.raises(ConfigError, match="'ssa' learns on the server's unlabelled target data"):
        woven("fedssa")
    with pytest.raises(ConfigError, match="'df' learns on the server's unlabelled target data"):
        woven("feddf")
    assert woven("fedssa", ssa__mode="sample_wise").needs_horizon == "ssa"
    assert (woven("fedssg").needs_horizon, woven("feddyn").needs_horizon) == ("ssg", None)
