"""The front door: which commands there are, how soon they answer, and what becomes of errors."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from fedloom.cli.main import build_parser, main
from tests.fedloom.cli.command_line import fails

COMMANDS = [
    "run",
    "report",
    "dashboard",
    "sweep",
    "reproduce",
    "strategies",
    "presets",
    "data",
    "partition",
    "predict",
    "bench",
    "deploy",
]
HEAVY = {"torch", "ray", "flwr", "starlette", "uvicorn", "cryptography", "rich", "numpy", "jinja2"}
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
    modules = "import sys, simulation.report.page; print('torch' in sys.modules, 'jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", modules], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_the_version_is_the_one_that_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert (
        capsys.readouterr().out == f"fedloom {version('fedloom')}, flwr {version('flwr')}, torch {version('torch')}\n"
    )


def test_every_command_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            build_parser().parse_args([name, "--help"])
        assert stop.value.code == 0
        assert f"usage: fedloom {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["runn"], "fedloom: There is no command 'runn'; did you mean 'run'? There are run, report, "),
        (["deploy", "sumbit"], "fedloom deploy: There is no command 'sumbit'; did you mean 'submit'? There are init, "),
        (
            ["strategies", "--jsn"],
            "fedloom strategies: There is no flag '--jsn'; did you mean '--json'? `fedloom strategies",
        ),
        (["run", "--learning-rate=1"], "fedloom run: There is no flag '--learning-rate'; did you mean '--lr'?"),
        (["run", "--rounds", "3", "4"], "The word '4' has no place there"),
        (
            ["data", "lst"],
            "Argument action: invalid choice: 'lst' (choose from 'fetch', 'list'). `fedloom data --help`",
        ),
        (["data"], "The following arguments are required: action"),
        ([], "The following arguments are required: COMMAND"),
    ],
)
def test_a_wrong_word_is_one_sentence(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = fails(capsys, *arguments)
    assert told in line and line.startswith("fedloom") and "--help` lists what there is." in line


@pytest.mark.parametrize(
    "arguments", [["run", "--round", "3"], ["report", "x", "--tit", "y"], ["deploy", "submit", "--strat", "x"]]
)
def test_an_abbreviated_flag_is_not_taken(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert f"There is no flag {arguments[-2]!r}; did you mean" in fails(capsys, *arguments)


@pytest.mark.parametrize("strategy", ["fedavgg", "feddyn+discoo"])
def test_a_wrong_strategy_is_told_before_anything_heavy_is_loaded(strategy: str, tmp_path: Path) -> None:
    """Ray and torch take seconds; the sentence takes a fraction of one."""
    code = f"import sys, fedloom.cli.main as cli; print(cli.main(['run', '--strategy', '{strategy}']), *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    exit_code, *loaded = done.stdout.split()
    assert exit_code == "2" and "did you mean" in done.stderr
    assert not {name.partition(".")[0] for name in loaded} & HEAVY


def interrupted_at(module: str, *arguments: str, cwd: Path) -> tuple[int, str]:
    """Ctrl-C at the moment in which a module is imported; returns the exit code and what was said."""
    command = [sys.executable, "-X", "importtime", "-m", "fedloom", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=cwd)
    assert process.stderr is not None
    for line in process.stderr:
        if line.rpartition("|")[2].strip() == module:
            break
    process.send_signal(signal.SIGINT)
    told = [line for line in process.stderr if not line.startswith("import time:")]
    return process.wait(timeout=60), "".join(told).strip()


@pytest.mark.parametrize("module", ["argparse", "pydantic", "flwr.app", "torch.nn", "jinja2"])
def test_an_interrupt_while_the_program_loads_says_nothing(module: str, tmp_path: Path) -> None:
    assert interrupted_at(module, "run", "--engine", "inline", "--dataset", "digits", cwd=tmp_path) == (130, "")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_of_a_command_is_one_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fedloom.cli.data.print_list", interrupted)
    assert main(["data", "list"]) == 130
    assert capsys.readouterr().err == "\nfedloom: Stopped.\n"


@pytest.mark.parametrize("arguments", [["data", "list"], ["strategies", "--json"]])
def test_output_that_cannot_be_written_is_one_sentence(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fedloom", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (
        2,
        "fedloom: The system refused something (No space left on device): make room on the disk.\n",
    )
