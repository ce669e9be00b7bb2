"""`fedloom sweep`: a folder for each run, a comparison of them, and mistakes before the first run."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedloom.cli.main import main
from tests.fedloom.cli.command_line import SMALL, fails


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
