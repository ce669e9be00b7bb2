"""Errands on a node: they need no package of ours to be unpacked, and tell what is there."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from ray import cloudpickle

from simulation.engines.cluster.errands import fact_finder, sweeper, token_reader
from simulation.engines.worker_start import OUR_NAMES, homes

PACKAGES = ("numpy", "no-such-package")


def test_facts_are_found_by_a_process_that_has_none_of_our_packages(tmp_path: Path) -> None:
    (tmp_path / "errand").write_bytes(cloudpickle.dumps(fact_finder()))
    code = f"""
import pickle, sys
errand = pickle.load(open("errand", "rb"))
facts = errand({homes()!r}, {OUR_NAMES!r}, {PACKAGES!r})
assert not set({OUR_NAMES!r}) & set(sys.modules)
pickle.dump(facts, open("facts", "wb"))
"""
    subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, env={}, check=True)
    facts = pickle.loads((tmp_path / "facts").read_bytes())
    assert facts == fact_finder()(homes(), OUR_NAMES, PACKAGES)
    assert facts["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert facts["no-such-package"] == "none"


def test_the_source_is_told_by_every_letter_of_it(tmp_path: Path) -> None:
    package = tmp_path / "their_package"
    package.mkdir()
    (package / "__init__.py").touch()
    sums = set()
    for text in ("a = 1", "a = 2", "a = 2", "a = 22"):
        (package / "inner.py").write_text(text)
        sums.add(fact_finder()({"their_package": str(tmp_path)}, ("their_package",), ())["source"])
    assert len(sums) == 3


def test_a_token_is_read_and_a_missing_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("word")
    assert token_reader()(str(tmp_path / "token")) == "word"
    assert token_reader()(str(tmp_path / "elsewhere")) == ""


def test_a_folder_is_swept_away_and_its_neighbour_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("mine", "another"):
        (tmp_path / name / "kept").mkdir(parents=True)
    sweeper()("mine")
    sweeper()("mine")
    assert [path.name for path in tmp_path.iterdir()] == ["another"]
