"""Workers have our packages from where the driver has them, also in a folder with files of the same names."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from simulation.engines.ray_grid import RayGrid
from simulation.engines.worker_start import OUR_NAMES, homes
from tests.simulation.engines.obedient_app import answered, orders

pytestmark = pytest.mark.timeout(180)
ROOT = Path(__file__).resolve().parents[3]
RUN = "run --strategy scaffold --dataset digits --model mlp:8 --clients 4 --rounds 1 --workers 2".split()
COMMANDS = [[str(Path(sys.executable).with_name("fedloom"))], [sys.executable, "-m", "fedloom"]]


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """A user's folder that has files under names of ours, which must never be loaded."""
    for name in ("clients", "simulation", "fl_data"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('{name}.py of the current folder was imported')\n")
    return tmp_path


def test_every_package_of_the_project_is_named() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages = {pattern.removesuffix("*") for pattern in declared["packages"]["find"]["include"]}
    assert {*packages, *declared["py-modules"]} == set(OUR_NAMES)


def test_homes_are_the_folders_in_which_the_driver_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(homes().values()) == {str(ROOT)}
    (tmp_path / "their_app.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert homes(("their_app", "no_such_module")) == {"their_app": str(tmp_path)}


@pytest.mark.parametrize(("command", "engine"), [*((command, "ray") for command in COMMANDS), (COMMANDS[0], "flower")])
def test_a_run_from_a_folder_with_files_of_our_names(command: list[str], engine: str, crowded: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # this tree, not one that is installed
    done = subprocess.run(
        [*command, *RUN, "--engine", engine, "--out", "run"],
        cwd=crowded,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (crowded / "run" / "model.safetensors").exists()
    assert "round 1/1" in done.stdout + done.stderr


def test_an_app_of_the_current_folder_is_still_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only our own names are looked for elsewhere."""
    (tmp_path / "app_of_this_folder.py").write_text("from obedient_app import app\n")
    monkeypatch.chdir(tmp_path)
    with RayGrid("app_of_this_folder:app", 2, {}, workers=1) as grid:
        assert set(answered(grid.send_and_receive(orders(2), timeout=60))) == {0, 1}
