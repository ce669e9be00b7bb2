"""`fedloom deploy submit` and its like: every option reaches Flower, and a run that failed says why."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import deploy.connection
from fedloom.cli.main import main
from fl_config.options import FLAGS
from fl_protocol.flower.control import SubmittedRun
from fl_protocol.flower.submission import Outcome, Submission
from tests.fedloom.cli.deploy.replaced import FakeControl, fails


def test_submit_hands_every_option_to_flower(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, Any] = {}

    def start(self: Submission, app: Path, run_config: Path) -> int:
        seen["config"] = tomllib.loads(run_config.read_text())
        seen["app"] = tomllib.loads((app / "pyproject.toml").read_text())
        return 7

    monkeypatch.setattr(Submission, "start", start)
    monkeypatch.setattr(Submission, "log", lambda self, run: iter(["round 1\n", f"run {run}\n"]))
    monkeypatch.setattr(Submission, "outcome", lambda self, run: Outcome(True, "completed"))
    strange = 'npz:/data/a "quoted" name\\x.npz'
    words = ["--strategy", "feddyn+disco", "--set", "disco.a=0.4", "--lr", "0.3", "--dataset", strange]
    assert main(["deploy", "submit", *words, "--partition", "private", "--out", "here", "--stream"]) == 0
    config = seen["config"]
    assert config["dataset"] == strange and config["disco"] == {"a": 0.4} and config["lr"] == 0.3
    assert FLAGS.keys() <= config.keys()
    known = seen["app"]["tool"]["flwr"]["app"]["config"]
    assert config.keys() <= known.keys(), "flwr refuses a key that the app does not declare"
    said = capsys.readouterr().out
    assert "Its folder is here" in said and said.endswith("round 1\nrun 7\n")


def test_a_run_may_be_called_by_its_folder(
    started: list[Any], server: FakeControl, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The newest run of that folder is meant, which is the one that resumed it."""
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr(deploy.connection.Connection, "flwr", lambda self, *words: seen.append(words) or 0)
    options = [(9, {"resume": "first"}), (8, {"out": "second"}), (7, {"out": "first"})]
    server.submitted = [SubmittedRun(number, given, "running", "", None) for number, given in options]
    assert main(["deploy", "stop", "first"]) == 0
    assert main(["deploy", "logs", "second", "--stream"]) == 0
    assert main(["deploy", "logs", "123"]) == 0
    assert [words[1] for words in seen] == ["9", "8", "123"]
    assert "did you mean 'first'" in fails(capsys, "stop", "frist")


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        (Outcome(True, "failed", "3 clients are needed."), "fedloom: The run failed: 3 clients are needed."),
        (Outcome(True, "stopped"), "fedloom: The run was stopped."),
        (Outcome(False), "fedloom: The run goes on, but its log is no longer sent."),
    ],
)
def test_a_run_that_was_not_completed_gives_its_reason(
    outcome: Outcome,
    sentence: str,
    started: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Submission, "start", lambda *_: 7)
    monkeypatch.setattr(Submission, "log", lambda *_: iter(()))
    monkeypatch.setattr(Submission, "outcome", lambda *_: outcome)
    assert main(["deploy", "submit", "--out", "here", "--stream"]) == 2
    assert capsys.readouterr().err.strip() == sentence
