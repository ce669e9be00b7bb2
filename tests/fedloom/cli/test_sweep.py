"""`fedloom sweep`: a folder for each run, a comparison of them, and mistakes before the first run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fedloom.cli.main import main
from fedloom.cli.sweep import print_comparison
from fl_runs.reading import read_runs
from simulation.report.table import comparison
from tests.fedloom.cli.command_line import SMALL, fails
from tests.runs.made_runs import MakeRun
from tests.simulation.report.headline_runs import with_headline


def test_sweep_and_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    flags = ["--strategies", "fedavg,feddisco", "--grid", "disco.a=0.1,0.5", "--seeds", "2", *SMALL, "--out", str(out)]
    assert main(["sweep", *flags]) == 0
    told = capsys.readouterr().out
    assert "±" in told and "feddisco · disco.a=0.1" in told
    assert "6 runs\n" in told and "fedavg-seed1: round 2/2  accuracy" in told
    assert len(list(out.glob("*/summary.json"))) == 6
    assert "<h1>3 configurations compared</h1>" in (out / "report.html").read_text()
    tables = {name: (out / name).read_bytes() for name in ("table.csv", "table.tex")}
    copies = [str(tmp_path / "again.csv"), str(tmp_path / "again.tex")]
    page = tmp_path / "again.html"
    assert main(["report", str(out), "--csv", copies[0], "--latex", copies[1], "--out", str(page)]) == 0
    assert [Path(copy).read_bytes() for copy in copies] == list(tables.values())
    assert page.read_bytes() == (out / "report.html").read_bytes()
    capsys.readouterr()
    assert "no 'fedper' among" in fails(capsys, "report", str(out), "--baseline", "fedper")
    assert "another sweep" in fails(capsys, "sweep", "--strategies", "fedavg", *SMALL, "--out", str(out))
    assert "not a run folder" in fails(capsys, "report", str(tmp_path))
    assert "'nope'" in fails(capsys, "sweep", "--strategies", "fedavg,nope", *SMALL, "--out", str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()
    assert main(["sweep", *flags, "--side-by-side", "7"]) == 0
    assert "of which 6 are finished already" in capsys.readouterr().out


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


def test_a_run_that_fails_is_told_at_the_end_and_tried_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "sweep"
    (out / "fedavg-seed1").mkdir(parents=True)
    flags = ["sweep", "--strategies", "fedavg", "--seeds", "2", *SMALL, "--out", str(out)]
    assert "holds no sweep" in fails(capsys, *flags)
    (out / "fedavg-seed1").rmdir()
    with begun(out):
        assert main(flags) == 1
    captured = capsys.readouterr()
    assert "fedavg-seed1 failed: The output folder" in captured.err and "1 of 2 runs are finished" in captured.err
    (out / "fedavg-seed1" / "thesis.tex").unlink()
    assert main(flags) == 0


@contextmanager
def begun(out: Path) -> Iterator[None]:
    """While it lasts, something of the user's gets into the folder of the second run as soon as the sweep has begun."""

    def put() -> None:
        while not (out / "sweep.json").exists():
            time.sleep(0.001)
        (out / "fedavg-seed1").mkdir()
        (out / "fedavg-seed1" / "thesis.tex").write_text("x")

    thread = threading.Thread(target=put)
    thread.start()
    yield
    thread.join()


def test_ctrl_c_stops_all_and_the_same_command_goes_on(tmp_path: Path) -> None:
    flags = ["--strategies", "fedavg,feddisco", "--seeds", "1", *SMALL, "--rounds", "150", "--side-by-side", "2"]
    command = [sys.executable, "-m", "fedloom", "sweep", *flags, "--out", str(tmp_path / "s")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if "round 2/150" in line:
            process.send_signal(signal.SIGINT)
            break
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "0 of 2 runs are finished" in errors and "The same command goes on" in errors and "Traceback" not in errors
    assert main(["sweep", *flags, "--out", str(tmp_path / "s")]) == 0
    assert [len(one.read_text().splitlines()) for one in (tmp_path / "s").glob("*/metrics.jsonl")] == [151, 151]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--resume", "x"], "--resume cannot be used in a sweep"),
        (["--state-folder", "x"], "--state-folder cannot"),
        (["--strategy", "fedavg"], "--strategies A,B"),
        (["--grid", "lr"], "KEY=VALUE"),
        (["--grid", "lr=0.1,0.2", "--lr", "0.1"], "both as an option and in the grid"),
        (["--grid", "lr=0.1,x"], "'lr'"),
        (["--grid", "disco.a=0.1"], "none of the strategies uses"),
        (["--side-by-side", "0"], "at least 1"),
        (["--baseline", "feddisco"], "none of the strategies"),
        (["--track", "tensorbord"], "did you mean 'tensorboard'"),
    ],
)
def test_what_cannot_work_in_a_sweep_is_refused_by_name(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    flags = ["--strategies", "fedavg", *SMALL, "--out", str(tmp_path / "sweep")]
    assert told in fails(capsys, "sweep", *flags, *arguments)
    assert not (tmp_path / "sweep").exists()


def test_the_comparison_goes_by_the_headline(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    folder = with_headline(make_run(rounds=2), "brier", "less")
    print_comparison(comparison(read_runs([folder])))
    told = capsys.readouterr().out
    values = [json.loads(line)["global/brier"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert "Final brier" in told and "Best brier" in told
    assert f"{values[-1]:#.4g}" in told and f"{min(values):#.4g}" in told
