"""A plan: parameters checked against the strategy, and the complete configuration."""

from __future__ import annotations

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
    assert set(as_flat(Options())) <= set(complete)
    assert all(isinstance(value, (bool, int, float, str)) for value in flat_parameters().values())
