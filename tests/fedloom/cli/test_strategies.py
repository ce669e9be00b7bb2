"""`fedloom strategies`, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from fedloom.cli.main import main
from tests.fedloom.cli.command_line import fails


def test_strategies_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies"]) == 0
    assert "feddisco" in capsys.readouterr().out
    assert main(["strategies", "--json"]) == 0
    listing = json.loads(capsys.readouterr().out)
    disco = next(entry for entry in listing["plugins"] if entry["name"] == "disco")
    assert {key: disco["parameters"][0][key] for key in ("key", "default")} == {"key": "disco.a", "default": 0.5}
    assert "ICML" in disco["paper"]
    assert main(["strategies", "feddyn+disco", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bases"][0]["parts"] == ["dyn", "disco"]
    assert "did you mean" in fails(capsys, "strategies", "feddino")
