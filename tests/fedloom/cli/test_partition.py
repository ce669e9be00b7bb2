"""`fedloom partition`: the table and the picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedloom.cli.main import main
from tests.fedloom.cli.command_line import fails


def test_partition_is_drawn_and_tabled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("p.png", "p.html"):
        assert (
            main(
                [
                    "partition",
                    "--dataset",
                    "digits",
                    "--clients",
                    "5",
                    "--partition",
                    "shards:2",
                    "--out",
                    str(tmp_path / name),
                ]
            )
            == 0
        )
        assert (tmp_path / name).stat().st_size > 5_000
    told = capsys.readouterr().out
    assert "KL 1.6094" in told and "total variation 0.8000" in told
    assert ".html or .png" in fails(capsys, "partition", "--dataset", "digits", "--out", "p.gif")


def test_of_a_million_clients_some_are_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    million = ["--clients", "1000000", "--partition", "drawn:20:0.3", "--out", str(tmp_path / "p.html")]
    assert main(["partition", "--dataset", "digits", *million]) == 0
    told = capsys.readouterr().out
    assert "200 of 1,000,000 clients are shown" in told and "\n5025 " in told
