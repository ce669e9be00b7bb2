"""`fedloom deploy submit` and its like: every option reaches Flower."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import deploy.connection
from fedloom.cli.main import main
from fl_config.options import FLAGS
from fl_protocol.flower.control import SubmittedRun
from tests.fedloom.cli.deploy.replaced import FakeControl, fails


def test_submit_hands_every_option_to_flower(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, Any] = {}

    def flwr(self: deploy.connection.Connection, *words: str) -> int:
        seen["words"], seen["connection"] = words, self
        seen["config"] = tomllib.loads(Path(words[words.index("--run-config") + 1]).read_text())
        seen["app"] = tomllib.loads((Path(words[1]) / "pyproject.toml").read_text())
        seen["wiring"] = (Path(words[1]) / "fedloom_app.py").read_text()
        return 0

    monkeypatch.setattr(deploy.connection.Connection, "flwr", flwr)
    strange = 'npz:/data/a "quoted" name\\x.npz'
    words = ["--strategy", "feddyn+disco", "--set", "disco.a=0.4", "--lr", "0.3", "--dataset", strange]
    assert main(["deploy", "submit", *words, "--partition", "private", "--out", "here", "--stream"]) == 0
    config = seen["config"]
    assert config["dataset"] == strange and config["disco"] == {"a": 0.4} and config["lr"] == 0.3
    assert FLAGS.keys() <= config.keys()
    known = seen["app"]["tool"]["flwr"]["app"]["config"]
    assert config.keys() <= known.keys(), "flwr refuses a key that the app does not declare"
    assert seen["words"][2] == "fedloom" and "--stream" in seen["words"]
    assert seen["connection"].authority is not None
    assert "here" in capsys.readouterr().out


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
