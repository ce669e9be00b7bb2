"""The whole site: it is built without a warning, needs nothing from elsewhere, and a broken page ends the build."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def copy(place: Path) -> Path:
    """The pages and what they include, apart from the tree, so that nothing is written there."""
    shutil.copytree(ROOT / "docs", place / "docs", ignore=shutil.ignore_patterns("_build", "__pycache__", "reference"))
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"):
        shutil.copy(ROOT / name, place)
    for package in ROOT.glob("*/__init__.py"):  # pages link to the source
        place.joinpath(package.parent.name).symlink_to(package.parent)
    return place / "docs"


def build(pages: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-b", "html"]
    command += [*settings, "-c", str(ROOT / "docs" / "making"), str(pages), str(pages / "_build")]
    return subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=500)


@pytest.mark.timeout(600)
def test_the_site_is_built_and_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    pages = copy(tmp_path)
    done = build(pages)
    assert done.returncode == 0, done.stdout + done.stderr
    made = {
        page.relative_to(pages / "_build").as_posix(): page.read_text() for page in (pages / "_build").rglob("*.html")
    }
    assert {
        "index.html",
        "start.html",
        "methods/feddyn.html",
        "reference/commands.html",
        "reference/python.html",
    } <= made.keys()
    for name, text in made.items():
        loaded = re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']([^\"']+)", text)
        assert [place for place in loaded if re.match(r"(?:https?:)?//", place)] == [], name
    for style in (pages / "_build").rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text()), style.name
    assert "<mfrac>" in made["methods/feddyn.html"] and "fedloom run" in made["reference/commands.html"]
    assert '<span class="flag">--batch-size</span>' in made["start.html"]
    commands = re.sub(r"<[^>]+>", "", made["reference/commands.html"])
    assert "--partition SCHEME" in commands and "fedloom.sweep" in made["reference/python.html"]


@pytest.mark.timeout(600)
def test_a_broken_reference_ends_the_build(tmp_path: Path) -> None:
    pages = copy(tmp_path)
    (pages / "index.md").write_text("# Only this\n\n[nowhere](nowhere.md)\n\n```{toctree}\nmissing\n```\n")
    done = build(pages, "-D", "exclude_patterns=methods,reference,[!i]*.md")
    assert done.returncode != 0 and "nowhere.md" in done.stderr and "missing" in done.stderr
