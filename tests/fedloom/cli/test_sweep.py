"""`fedloom sweep`: a folder for each run, a comparison of them, and mistakes before the first run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedloom.cli.main import main
from fedloom.cli.sweep import grid, print_comparison
from tests.fedloom.cli.command_line import SMALL, fails
from tests.runs.made_runs import MakeRun
from tests.simulation.report.headline_runs import with_headline


def test_sweep_and_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    assert main(["sweep", "--strategies", "fedavg,feddisco", "--seeds", "2", *SMALL, "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "±" in told and "feddisco" in told
    assert (out / "report.html").exists()
    assert len(list(out.glob("*/summary.json"))) == 4
    assert (
        main(["report", str(out / "fedavg-seed0"), str(out / "feddisco-seed1"), "--out", str(tmp_path / "two.html")])
        == 0
    )
    assert (tmp_path / "two.html").stat().st_size > 100_000
    capsys.readouterr()
    assert "not a run folder" in fails(capsys, "report", str(tmp_path))
    assert "not empty" in fails(capsys, "sweep", "--strategies", "fedavg", *SMALL, "--out", str(out))
    assert "'nope'" in fails(capsys, "sweep", "--strategies", "fedavg,nope", *SMALL, "--out", str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--strategies", " , "], "at least one strategy"),
        (["--strategies", "fedavg", "--seeds", "0"], "one seed"),
        (["--strategies", "fedavg", "--seed", "x"], "'seed'"),
    ],
)
def test_a_grid_of_nothing_is_one_sentence(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert told in fails(capsys, "sweep", *arguments, "--out", str(tmp_path / "sweep"))
    assert not (tmp_path / "sweep").exists()


def test_every_run_has_its_own_seed_and_folder(tmp_path: Path) -> None:
    runs = grid({"lr": 0.1, "seed": 5}, ["fedavg", "local"], 2, tmp_path / "x")
    assert [(one["strategy"], one["seed"]) for one in runs] == [
        ("fedavg", 5),
        ("fedavg", 6),
        ("local", 5),
        ("local", 6),
    ]
    assert [Path(one["out"]).name for one in runs] == ["fedavg-seed5", "fedavg-seed6", "local-seed5", "local-seed6"]
    assert all(one["lr"] == 0.1 for one in runs)


def test_the_comparison_goes_by_the_headline(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    folder = with_headline(make_run(rounds=2), "brier", "less")
    print_comparison([folder])
    told = capsys.readouterr().out
    values = [json.loads(line)["global/brier"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert "Final brier" in told and "Best brier" in told
    assert f"{values[-1]:#.4g}" in told and f"{min(values):#.4g}" in told
