"""Presets by name: what is in one, what another strategy leaves of it, and a name that does not exist."""

from __future__ import annotations

import pytest

from fedloom.preset import about, names, preset
from fl_config.errors import ConfigError
from fl_runs.plan import make_plan


def test_a_preset_has_the_paper_s_settings() -> None:
    assert "feddisco-table2-fedavg" in names() and len(names()) == 44
    settings = preset("feddisco-table2-fedavg")
    assert (settings["strategy"], settings["partition"], settings["rounds"]) == ("feddisco", "biased:5:1", 100)
    assert about("feddisco-table2-fedavg").startswith("FedDisco, Table 2")


@pytest.mark.parametrize("name", names())
def test_another_row_of_the_table_is_a_plan_too(name: str) -> None:
    """FedAvg has none of the parts whose parameters the presets set."""
    other = preset(name, "fedavg")
    assert make_plan(other).recipe.name == "fedavg" and not [key for key in other if "." in key]


def test_parameters_stay_where_the_part_does() -> None:
    own = preset("asd-table8-vit")
    assert own["asd.lam"] == 2.0
    assert preset("asd-table8-vit", "feddyn+asd") == {**own, "strategy": "feddyn+asd"}


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'feddisco-table2-fedavg'"):
        preset("feddisco-table2-fedavgg")
