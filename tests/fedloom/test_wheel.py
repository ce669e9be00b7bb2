"""The wheel and the source distribution have everything that the installed commands read, and nothing that they do not."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READ_AT_RUN_TIME = {".css", ".html", ".js", ".toml", ".service", ".yaml"}
OURS = (
    "fl_config",
    "fl_data",
    "fl_models",
    "fl_tasks",
    "fl_protocol",
    "clients",
    "fl_strategies",
    "fl_runs",
    "simulation",
    "deploy",
    "fedloom",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both, made of a copy of the tree; the wheel is made of the source distribution, as pip would."""
    place = tmp_path_factory.mktemp("dist")
    tree = place / "tree"
    tree.mkdir()
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in OURS:
        shutil.copytree(ROOT / folder, tree / folder, ignore=unwanted)
    for file in (path for path in ROOT.iterdir() if path.is_file()):
        shutil.copy(file, tree)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place), str(tree)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def sources() -> set[str]:
    """Every file of ours that is code, or is read when a command runs."""
    files = [path for room in OURS for path in (ROOT / room).rglob("*") if "__pycache__" not in path.parts]
    wanted = [path for path in files if path.suffix in {".py", *READ_AT_RUN_TIME} or path.parent.name == "templates"]
    return {path.relative_to(ROOT).as_posix() for path in wanted if path.is_file()} | {"server_app.py", "client_app.py"}


@pytest.mark.timeout(600)
def test_both_have_every_file_of_ours(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert sources() - names == set(), "not in the wheel: see package-data in pyproject.toml"
    assert names - sources() == set(), "in the wheel, but nobody reads it"
    assert "fedloom/presets/feddisco-table2-fedavg.toml" in names and "simulation/report/browser/style.css" in names
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    assert sources() - inside == set()
    assert {"README.md", "LICENSE", "CHANGELOG.md", "requirements.txt", "constraints.txt"} <= inside


def test_the_wheel_says_what_it_needs_and_what_it_offers(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (about,) = (name for name in packed.namelist() if name.endswith("/METADATA"))
        said = Parser().parsestr(packed.read(about).decode())
        entry = packed.read(about.replace("METADATA", "entry_points.txt")).decode()
    needs = said.get_all("Requires-Dist") or []
    assert any(line.startswith("torch") for line in needs) and any(
        line.startswith("flwr[simulation]") for line in needs
    )
    assert "fedloom = fedloom.cli.main:main" in entry
    assert said["License-Expression"] == "Apache-2.0" and said["Requires-Python"] == ">=3.11"
