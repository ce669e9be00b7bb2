"""A user's folder may hold files with the names of our packages: scripts there work, or get a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fl_config import our_packages

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import fedloom
from torch import nn


class Net(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.last = nn.Linear(64, num_classes)

    def forward(self, x):
        return self.last(x.flatten(1))


if __name__ == "__main__":
    options = {"dataset": "digits", "clients": 2, "rounds": 1, "workers": 1, "progress": False}
    runs = [fedloom.run(model=Net, engine=engine, **options) for engine in ("inline", "inline", "ray")]
    assert len({run.folder for run in runs}) == 3 and len({str(run.model) for run in runs}) == 1
    print(runs[0].predict()["prediction"].count())
"""


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """A script called simulation.py, beside files that must not be imported."""
    (tmp_path / "simulation.py").write_text(SCRIPT)
    for name in ("clients", "client_app", "server_app", "deploy", "fl_data"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('{name}.py of the user was imported')\n")
    return tmp_path


@pytest.mark.timeout(300)
def test_a_script_with_the_name_of_a_package_runs_on_every_engine_of_ours(crowded: Path) -> None:
    done = python(crowded, "simulation.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["355"]


def test_a_command_in_such_a_folder(crowded: Path) -> None:
    done = python(crowded, "-m", "fedloom", "strategies", "--json")
    assert done.returncode == 0 and "feddisco" in done.stdout, done.stderr


def test_a_module_of_the_users_keeps_its_name_and_is_told_of_ours(tmp_path: Path) -> None:
    (tmp_path / "clients.py").write_text("mine = 42\n")
    (tmp_path / "script.py").write_text(
        "import fedloom\nimport clients\nprint(clients.mine)\n"
        "try:\n    fedloom.run(dataset='digits')\nexcept ValueError as error:\n    print(error)\n"
    )
    done = python(tmp_path, "script.py")
    number, sentence = done.stdout.splitlines()
    assert number == "42"
    assert sentence.startswith(f"{tmp_path}/clients.py is imported here as 'clients'") and "my_clients.py" in sentence
    assert not (tmp_path / "runs").exists()


def test_an_app_of_the_users_own_may_use_our_parts(tmp_path: Path) -> None:
    """Flower's users have a client_app.py; a part of ours in it is no reason to refuse it."""
    (tmp_path / "client_app.py").write_text("from fedloom import Objective\napp = Objective\n")
    (tmp_path / "main.py").write_text("import client_app\nprint(client_app.app.__module__)\n")
    assert python(tmp_path, "main.py").stdout == "clients.objectives.base\n"


def test_what_is_ours() -> None:
    assert our_packages.is_ours(str(ROOT / "clients" / "client.py")) and our_packages.is_ours(
        str(ROOT / "client_app.py")
    )
    assert not our_packages.is_ours(str(ROOT / "tests" / "test_house.py")) and not our_packages.is_ours(
        "/elsewhere/clients.py"
    )
