"""`fedloom.sweep`: the runs and the table of a sweep from Python."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import fedloom
from fl_config.errors import ConfigError

SMALL = {"dataset": "digits", "model": "mlp:8", "clients": 3, "rounds": 2, "engine": "inline"}


def test_a_sweep_gives_its_runs_and_their_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = fedloom.sweep(
        ["fedavg", "feddisco"],
        {"disco.a": [0.1, 0.5]},
        seeds=1,
        set={"disco.b": 0.2},
        out=str(tmp_path / "s"),
        quiet=True,
        **SMALL,
    )
    assert capsys.readouterr().out == "" and made.failed == {}
    assert [one.folder.name for one in made.runs] == [
        "fedavg-seed0",
        "feddisco-disco.a=0.1-seed0",
        "feddisco-disco.a=0.5-seed0",
    ]
    assert made.runs[1].rounds == 2 and made.runs[1].finished and made.runs[1].model
    table = made.table()
    assert list(table["final_mean"]) == [one.metrics[-1]["global/accuracy"] for one in made.runs]
    with (made.folder / "table.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(table.columns) and len(rows) == len(table) == 3


def test_one_text_is_no_list_of_strategies() -> None:
    with pytest.raises(ConfigError, match=r"strategies is a list"):
        fedloom.sweep("fedavg")
