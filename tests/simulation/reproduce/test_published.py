"""The published tables as data: every figure of the sources is there, every setting is one that a run takes, and mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_config.errors import ConfigError
from fl_data.division import ClientCounts, dataset_of
from fl_runs.plan import make_plan
from simulation.reproduce.published import read_tables, selected
from tests.simulation.reproduce.toy_table import toy_table


def test_every_published_row_is_there() -> None:
    rows = {row.name: row for row in read_tables()}
    niid = [name for name in rows if name.startswith("niid-")]
    assert len(niid) == 3 * 4 * 4
    assert rows["niid-fashion-dirichlet-fedavg"].figure == 88.4
    assert rows["niid-cifar10-3labels-fednova"].figure == 57.7
    assert rows["niid-fashion-2labels-scaffold"].no_target
    assert [rows[f"fedavg-mnist-{split}-fedavg"].figure for split in ("iid", "pathological")] == [87, 664]
    assert (rows["feddyn-cifar10-85-feddyn"].figure, rows["feddyn-cifar10-85-feddyn"].level) == (198, 0.85)
    assert {name.partition("-")[0] for name in rows} == {
        "asd", "fedavg", "fedcuau", "feddisco", "feddyn", "fedssa", "niid",
    }  # fmt: skip
    for row in rows.values():
        assert row.source and (row.figure is None or row.why), row.name
        assert not row.above or row.above in rows, row.name


def test_every_setting_is_one_that_a_run_takes() -> None:
    for row in read_tables():
        for setting in row.settings:
            plan = make_plan(setting.values)
            model = row.score.partition("/")[0]
            assert model in ("global", "personal") or model in plan.score, row.name


def test_the_split_of_a_row_is_the_published_one() -> None:
    """Through the row's own setting and seed, as a run divides the data."""
    (row,) = selected(read_tables(), ["niid-fashion-dirichlet-fedavg"])
    config = make_plan({**row.settings[0].values, "seed": row.seed}).config
    counts = ClientCounts(config, dataset_of(config))
    assert [int(each.sum()) for each in counts] == [6370, 2405, 6357, 6470, 7449, 6873, 4416, 8072, 4399, 7189]


def test_the_best_of_several_settings_counts() -> None:
    (row,) = selected(read_tables(), ["niid-mnist-iid-fedprox"])
    assert [one.values["prox.mu"] for one in row.settings] == [0.001, 0.01, 0.1, 1.0]
    assert [one.label for one in row.settings][:2] == ["prox.mu=0.001", "prox.mu=0.01"]
    assert row.settings[0].values["weight-decay"] == 1e-5 and row.settings[0].values["partition"] == "iid"


def test_rows_are_named_whole_by_their_beginning_or_by_a_pattern() -> None:
    rows = read_tables()
    assert len(selected(rows, ["niid-mnist"])) == 16
    assert {row.name for row in selected(rows, ["niid-*-dirichlet-fedavg"])} == {
        f"niid-{data}-dirichlet-fedavg" for data in ("mnist", "fashion", "cifar10")
    }
    # A gain cannot be told without the row that it is a gain over.
    assert [row.name for row in selected(rows, ["feddisco-fashion-feddyn-disco"])] == [
        "feddisco-fashion-feddyn",
        "feddisco-fashion-feddyn-disco",
    ]
    with pytest.raises(ConfigError, match="no published row 'niid-mnist-idd-fedavg'.*niid-mnist-iid-fedavg.*--list"):
        selected(rows, ["niid-mnist-idd-fedavg"])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"tolerance = 100": "tolerence = 100"}, "no key 'tolerence'.*tolerance"),
        ({"source": "sauce"}, "no key 'sauce'"),
        ({'"above fedavg"': '"more"'}, "'base' or 'above METHOD', but 'more'"),
        ({"rounds to 30": "rounds"}, "'accuracy' or 'rounds to 97', but 'rounds'"),
        ({"{ fedavg = 2 }": "{ fedavgg = 2 }"}, "'fedavgg'.*There is no"),
        ({'shown = "FedAvg"': ""}, "the key 'shown' is missing"),
        ({"[setting]": "[setting"}, "not valid TOML"),
    ],
)
def test_a_mistake_in_a_table_is_one_sentence(tmp_path: Path, changes: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        read_tables([toy_table(tmp_path, **changes)])
    with pytest.raises(ConfigError, match="cannot be read"):
        read_tables([tmp_path / "none.toml"])
