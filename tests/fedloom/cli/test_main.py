"""The front door: which commands there are, how soon they answer, and what becomes of errors."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fedloom.cli.main import build_parser
from tests.fedloom.cli.command_line import fails

COMMANDS = ["run", "report", "sweep", "strategies", "data", "partition", "predict", "bench", "deploy"]
HEAVY = {"torch", "ray", "flwr", "plotly", "cryptography", "rich", "numpy", "jinja2"}
LOADED = (
    "import sys, fedloom.cli.main as cli; cli.build_parser(); print(*{name.partition('.')[0] for name in sys.modules})"
)


@pytest.mark.parametrize("module", ["fedloom", "simulation"])
def test_both_modules_are_the_command(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: fedloom [-h]")
    places = [done.stdout.index(f"\n    {name}") for name in COMMANDS]
    assert places == sorted(places)


def test_the_parser_is_there_before_anything_heavy_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "fedloom" in loaded
    assert not loaded & HEAVY


def test_reading_runs_for_a_report_needs_no_torch() -> None:
    modules = "import sys, simulation.report.page; print('torch' in sys.modules, 'plotly' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", modules], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_every_command_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            build_parser().parse_args([name, "--help"])
        assert stop.value.code == 0
        assert f"usage: fedloom {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["runn"], "invalid choice: 'runn'"),
        (["data", "list", "--jsn"], "There is no flag '--jsn'; did you mean '--json'?"),
        (["data"], "The following arguments are required: action"),
        ([], "The following arguments are required: COMMAND"),
    ],
)
def test_a_wrong_word_is_one_sentence(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = fails(capsys, *arguments)
    assert told in line and line.startswith("fedloom") and "--help` lists what there is." in line
