"""`fedloom strategies`, as text and as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

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
    assert "no plug-in 'sspa'" in fails(capsys, "strategies", "fedavg+sspa")


PARTS = """
from fedloom import Objective, Params, part

@part("{name}", slot="objective", what="+ mu |theta - omega|_1")
class Mine(Objective):
    class Params(Params):
        mu: float = 0.01
"""


@pytest.mark.usefixtures("own_parts")
def test_parts_of_ones_own_are_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.py" for name in ("onelist", "twolist")]
    for file in files:
        file.write_text(PARTS.format(name=file.stem))
    flags = [word for file in files for word in ("--plugin", str(file))]
    assert main(["strategies", *flags, "--json", "onelist", "fedavg+twolist"]) == 0
    listing = json.loads(capsys.readouterr().out)
    (mine,) = listing["plugins"]
    assert (mine["name"], mine["slot"], mine["what"]) == ("onelist", "objective", "+ mu |theta - omega|_1")
    assert mine["parameters"] == [{"key": "onelist.mu", "default": 0.01, "range": "", "help": None}]
    assert "twolist" in listing["bases"][0]["parts"]
    assert main(["strategies", *flags]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "      onelist.mu = 0.01" in told and any(line.split()[:1] == ["twolist"] for line in told)
    assert "missing.py" in fails(capsys, "strategies", "--plugin", str(tmp_path / "missing.py"))


def test_plugins_are_read_only_where_they_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fl_protocol.code", None)  # an import of it would fail
    assert main(["strategies"]) == 0
    capsys.readouterr()
    with pytest.raises(ImportError):
        main(["strategies", "--plugin", "my_parts.py"])
