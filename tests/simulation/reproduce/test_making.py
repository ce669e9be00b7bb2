"""Which runs a table needs, and what is refused before one of them starts."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from fl_config.errors import ConfigError
from simulation.reproduce.kept_results import run_name
from simulation.reproduce.making import make_missing, needed_runs
from simulation.reproduce.published import read_tables
from simulation.sweep.screen import Screen
from tests.simulation.reproduce.toy_table import toy_table


def test_rows_share_runs_and_first_seeds_come_first(tmp_path: Path) -> None:
    rows = read_tables([toy_table(tmp_path)])
    fedavg, mild, strong = rows[0].settings[0], *rows[1].settings
    assert list(needed_runs(rows, 2)) == [
        run_name(setting, seed) for seed in (3, 4) for setting in (fedavg, mild, strong)
    ]
    assert len(needed_runs(rows, None)) == 3
    with pytest.raises(ConfigError, match="--seeds.*at least 1, but 0"):
        needed_runs(rows, 0)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({'score = "server,cohort"\n': ""}, "measures cohort/accuracy, but its setting lacks"),
        ({"lr = 0.1": "lr = -1"}, "'lr'"),
    ],
)
def test_a_setting_that_cannot_be_is_told_before_the_first_run(
    tmp_path: Path, changes: dict[str, str], told: str
) -> None:
    rows = read_tables([toy_table(tmp_path, **changes)])
    folder = tmp_path / "runs"
    with pytest.raises(ConfigError, match=told):
        make_missing(rows, None, folder, tmp_path / "results", {}, Screen(), threading.Event())
    assert not folder.exists()
