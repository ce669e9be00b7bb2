"""`fedloom reproduce` from the command line: what is missing is run, also after a kill, and ours stands beside theirs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fedloom.cli.main import main
from fedloom.cli.reproduce import seconds_of
from fl_config.errors import ConfigError
from tests.fedloom.cli.command_line import fails
from tests.simulation.reproduce.toy_table import toy_table


def flags(folder: Path, table: Path, name: str = "a") -> list[str]:
    where = ["--out", str(folder / name), "--results", str(folder / f"{name}-results")]
    return ["--published", str(table), *where]


def kept(folder: Path, name: str = "a") -> dict[str, dict[str, object]]:
    return {path.name: json.loads(path.read_text()) for path in (folder / f"{name}-results").glob("*.json")}


def test_a_table_from_nothing_to_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = flags(tmp_path, toy_table(tmp_path))
    assert main(["reproduce", "--list", *where]) == 0
    assert capsys.readouterr().out.count("not run") == 3
    assert main(["reproduce", "toy", *where, "--engine", "inline"]) == 0
    told = capsys.readouterr().out
    assert "[3/3]" in told and "within" in told and "published.html" in told
    files = kept(tmp_path)
    assert len(files) == 3
    one = next(content for name, content in files.items() if name.startswith("fedavg-"))
    lines = (tmp_path / "a" / str(one["name"]) / "metrics.jsonl").read_text().splitlines()
    curve = [[line["round"], line["cohort/accuracy"]] for line in map(json.loads, lines) if line["round"]]
    assert one["curves"]["cohort/accuracy"] == curve and one["seed"] == 3  # type: ignore[index]
    assert one["final"]["global/accuracy"] == json.loads(lines[-1])["global/accuracy"]  # type: ignore[index]
    (session,) = one["sessions"]  # type: ignore[misc]
    assert {"versions", "commit", "machine"} == session.keys() and str(tmp_path) not in json.dumps(one)
    assert {"published.md", "published.csv", "published.html"} <= {path.name for path in (tmp_path / "a").iterdir()}
    # Nothing is left to do, and a further seed is only that.
    assert main(["reproduce", "toy", *where, "--engine", "inline"]) == 0
    assert "3 runs, of which 3 are finished already" in capsys.readouterr().out
    assert main(["reproduce", "toy-iid-fedavg", *where, "--engine", "inline", "--seeds", "2"]) == 0
    assert len(kept(tmp_path)) == 4
    capsys.readouterr()
    assert main(["reproduce", "--table", *where]) == 0
    assert "| toy-iid-fedavg | digits, IID | FedAvg | cohort | 50 % |" in capsys.readouterr().out


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_is_ended_goes_on_with_the_same_bits(tmp_path: Path, how: signal.Signals) -> None:
    table = toy_table(tmp_path, rounds=100)
    command = ["reproduce", "toy-iid-fedavg", "--engine", "inline"]
    process = subprocess.Popen(
        [sys.executable, "-m", "fedloom", *command, *flags(tmp_path, table)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "round 3/100" in line:
            process.send_signal(how)
            break
    _, errors = process.communicate(timeout=120)
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL), errors
    assert "Traceback" not in errors and not kept(tmp_path)
    assert main([*command, *flags(tmp_path, table)]) == 0
    assert main([*command, *flags(tmp_path, table, "whole")]) == 0
    (ended,), (whole,) = kept(tmp_path).values(), kept(tmp_path, "whole").values()
    assert ended["curves"] == whole["curves"] and ended["rounds"] == 100


def test_a_budget_ends_in_order_and_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = flags(tmp_path, toy_table(tmp_path, rounds=5))
    command = ["reproduce", "toy", *where, "--engine", "inline"]
    assert main([*command, "--budget", "0s"]) == 0
    told = capsys.readouterr()
    assert "The budget of 0s is used up; 0 of 3 runs are finished. The same command goes on" in told.err
    assert main([*command, "--budget", "1h"]) == 0
    assert len(kept(tmp_path)) == 3


def test_a_time_is_read_and_a_wrong_one_refused() -> None:
    assert [seconds_of(text) for text in ("3h", "1h30m", "45m", "90s", "0.5h")] == [10800, 5400, 2700, 90, 1800]
    for text in ("3", "h", "3 h", "3d", "-3h"):
        with pytest.raises(ConfigError, match="--budget is a time such as 3h"):
            seconds_of(text)


def test_what_cannot_be_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--list" in fails(capsys, "reproduce")
    assert "no published row 'niid-mnst'" in fails(capsys, "reproduce", "niid-mnst")
    assert "cannot be read" in fails(capsys, "reproduce", "--list", "--published", str(tmp_path / "none.toml"))
    assert "--budget is a time" in fails(capsys, "reproduce", "niid", "--budget", "long")
