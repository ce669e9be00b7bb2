"""A plan: parameters checked against the strategy, and the complete configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_config.errors import ConfigError
from fl_config.options import Options, as_flat
from fl_runs.plan import make_plan, plan_of_run
from fl_runs.run_config import defaults
from fl_strategies.recipes import flat_parameters


def test_part_parameters_are_checked_against_the_strategy() -> None:
    assert make_plan({"strategy": "fedssg", "fedssg.alpha": 0.2}).parameters["ssg"].model_dump()["alpha"] == 0.2
    with pytest.raises(ConfigError, match="belongs to 'disco', which the strategy 'fedavg' does not use"):
        make_plan({"disco.a": 0.3})
    with pytest.raises(ConfigError, match="no parameter 'aa'"):
        make_plan({"strategy": "feddisco", "disco.aa": 0.3})
    with pytest.raises(ConfigError, match="no part 'disko'.*did you mean 'disco'"):
        make_plan({"strategy": "feddisco", "disko.a": 0.3})
    with pytest.raises(ConfigError, match="'mu'.*-1"):
        make_plan({"strategy": "fedprox", "prox.mu": -1})


def test_flowers_run_config_with_every_default_is_accepted_and_a_partial_one_is_not() -> None:
    assert plan_of_run(defaults()).recipe.name == "fedavg"
    with pytest.raises(ConfigError, match="lacks"):
        plan_of_run({"strategy": "fedavg"})


def test_the_complete_configuration_names_the_parts_in_use() -> None:
    complete = make_plan({"strategy": "feddisco"}).complete()
    assert complete["disco.a"] == 0.5
    assert not any(key.startswith("asd.") for key in complete)
    assert set(as_flat(Options())) - {"code"} <= set(
        complete
    )  # texts travel with a run, its configuration has their sums
    assert all(isinstance(value, (bool, int, float, str)) for value in flat_parameters().values())


def test_a_placed_plan_is_the_same_with_other_folders() -> None:
    plan = make_plan({"strategy": "moon", "lr": 0.3})
    placed = plan.with_options(out="there", state_folder="there/state")
    assert (placed.config.out, placed.config.state_folder, plan.config.out) == ("there", "there/state", "")
    assert placed.recipe is plan.recipe and placed.complete() == {
        **plan.complete(),
        "out": "there",
        "state-folder": "there/state",
    }


def test_what_depends_on_the_strategy_is_known_from_the_plan() -> None:
    expected = {
        "fedavg": (0.0, 0, 0),
        "moon": (0.0, 0, 256),
        "fedper": (0.2, 0, 0),
        "fedbabu": (0.2, 5, 0),
        "fedcuau": (0.2, 5, 0),
    }
    for strategy, (held_out, epochs, projection) in expected.items():
        plan = make_plan({"strategy": strategy})
        assert (plan.held_out, plan.personal_epochs, plan.recipe.projection) == (held_out, epochs, projection), strategy
    chosen = make_plan({"strategy": "fedbabu", "held-out": 0.5, "personal-epochs": 1})
    assert (chosen.held_out, chosen.personal_epochs) == (0.5, 1)
    assert make_plan({"personal-epochs": 2}).held_out == 0.2  # who is scored needs data to be scored on
    assert make_plan({"partition": "private"}).private and not make_plan({}).private


def test_a_target_names_a_client_where_clients_have_names(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("a,site,y\n1,north,0\n2,south,1\n")
    table = {"dataset": f"csv:{tmp_path / 'own.csv'}", "label": "y", "partition": "column:site"}
    for given in (table, {"dataset": "digits", "partition": "private"}):
        assert make_plan({**given, "target": "skew:north"}).config.target == "skew:north"
    with pytest.raises(ConfigError, match="CLIENT must be a client's number"):
        make_plan({"partition": "iid", "target": "skew:north"})
