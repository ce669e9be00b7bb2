"""The global model: where it begins, what goes out, and that it goes on from what somebody made of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fl_protocol.arrays import from_record, to_record
from fl_protocol.messages import Setup
from fl_strategies.population.means import Means
from fl_strategies.recipes import parameters, parse
from fl_strategies.round.cohort import Population
from fl_strategies.round.global_model import GlobalModel
from fl_strategies.round.state import RunState
from fl_strategies.round.weave import Weave

INITIAL = {
    "trunk": np.array([1.0, 2.0], dtype=np.float32),
    "mean": np.array([0.5], dtype=np.float32),
    "fc": np.array([3.0], dtype=np.float32),
}


def members(**more: Any) -> Any:
    return SimpleNamespace(
        head_names=["fc"],
        trunk_end=[],
        trained_names=lambda named: ["trunk", "fc"],
        population=Population({0: 5, 1: 5}),
        setup=Setup("feedfeedfeedfeed"),
        **{"totals": {}, **more},
    )


def made(strategy: str = "feddyn", state: RunState | None = None) -> GlobalModel:
    recipe = parse(strategy)
    chosen = parameters(recipe, {})
    return GlobalModel(Weave(recipe, chosen, None), recipe.topology(chosen), state, Means((), None))


def opened(strategy: str = "feddyn", **more: Any) -> GlobalModel:
    model = made(strategy)
    model.open(to_record(INITIAL), members(**more))
    return model


def test_a_new_run_begins_with_the_initial_model_and_empty_memories() -> None:
    model = made()
    assert not model.opened and model.begun is None
    with pytest.raises(AssertionError, match="the first round opens the model"):
        _ = model.state
    sent = model.open(to_record(INITIAL), members())
    assert {name: value.tolist() for name, value in from_record(sent).items()} == {
        "trunk": [1, 2],
        "mean": [0.5],
        "fc": [3],
    }
    state = model.state
    assert (state.round, state.key) == (0, "feedfeedfeedfeed") and model.opened
    assert state.omega.tolist() == [1, 2, 3] and state.buffers["mean"].tolist() == [0.5]
    assert state.of("dyn")["H"].tolist() == [0, 0, 0]


def test_a_resumed_run_begins_with_its_own_model_and_keeps_what_it_knows() -> None:
    kept = RunState(
        7, np.array([7.0, 8.0, 9.0], dtype=np.float32), {"mean": np.array([4.0], dtype=np.float32)}, key="a" * 16
    )
    kept.parts = {"disco": {"sum:class_counts": np.array([30, 10])}}
    model = made("feddisco", kept)
    assert model.kept_sums()["class_counts"].tolist() == [30, 10]
    sent = from_record(model.open(to_record(INITIAL), members()))
    assert (sent["trunk"].tolist(), sent["fc"].tolist(), sent["mean"].tolist()) == ([7, 8], [9], [4])
    assert model.state is kept and kept.round == 7 and kept.key == "a" * 16


def test_secure_sums_are_kept_with_the_weighting_that_needs_them() -> None:
    model = opened("feddisco", totals={"class_counts": np.array([3, 4])})
    assert model.state.of("disco")["sum:class_counts"].tolist() == [3, 4]
    assert model.kept_sums()["class_counts"].tolist() == [3, 4]
    assert made("feddisco").kept_sums() == {}


def test_what_was_handed_out_is_known_and_everything_else_is_taken_over() -> None:
    model = opened()
    sent = model.hand_out()
    model.state.omega = moved = np.array([5.0, 5.0, 5.0], dtype=np.float32)
    model.adopt(sent)  # the very record that went out: nobody changed it, and the state is ahead of it
    assert model.state.omega is moved
    changed = to_record({name: value * 2 for name, value in INITIAL.items()})
    model.adopt(changed)
    assert model.state.omega.tolist() == [2, 4, 6] and model.state.buffers["mean"].tolist() == [1]
    model.state.omega = moved
    model.adopt(changed)  # taken over once
    assert model.state.omega is moved
    assert from_record(model.hand_out())["fc"].tolist() == [5]


def test_a_topology_without_memories_leaves_none() -> None:
    model = opened("fedavg")
    assert model.topology_state == {} and "shared" not in model.state.parts
    model.remember({})
    assert "shared" not in model.state.parts
    model.remember({"x": INITIAL["fc"]})
    assert model.topology_state == {"x": INITIAL["fc"]}


def test_the_customised_model_is_served_and_both_are_evaluated() -> None:
    model = opened()
    assert model.served()["trunk"].tolist() == [1, 2] and list(model.evaluated()) == ["global"]
    model.state.customised = np.array([9.0, 8.0, 7.0], dtype=np.float32)
    assert model.served()["trunk"].tolist() == [9, 8] and model.served()["mean"].tolist() == [0.5]
    shown = model.evaluated()
    assert {prefix: arrays["fc"].tolist() for prefix, arrays in shown.items()} == {"global": [7], "outgoing": [3]}
    assert opened("fedper").evaluated() == {}  # a body without a head is no model
