"""Everything of one's own at once: a folder outside the repository, one command, the same bits on every engine and after a kill."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from fedloom.cli.main import main
from tests.runs.own_folder import FLAGS, HOSPITALS, PARTS, bits, fedloom, finished, make_folder, records

pytestmark = pytest.mark.timeout(300)
RAY = ["--engine", "ray", "--workers", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("outside"))


@pytest.fixture(scope="module")
def inline(folder: Path) -> Path:
    finished(fedloom(folder, "run", *FLAGS, "--engine", "inline", "--out", "inline"))
    return folder / "inline"


@pytest.fixture(scope="module")
def killed(folder: Path) -> Path:
    """A run on ray whose whole process group was killed after a round had been recorded."""
    process = fedloom(folder, "run", *FLAGS, *RAY, "--out", "killed")
    deadline = time.monotonic() + 120
    while len(records(folder / "killed")) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, "the run ended before it could be killed"
    assert 2 <= len(records(folder / "killed")) < 13
    return folder / "killed"


def test_every_hospital_is_scored_by_name(inline: Path) -> None:
    lines = records(inline)
    assert [line["round"] for line in lines] == list(range(13))
    assert lines[-1]["personal/client_ids"] == lines[-1]["cohort"] == sorted(HOSPITALS)
    first, last = (dict(zip(sorted(HOSPITALS), line["personal/client_auroc"], strict=True)) for line in lines[1::11])
    assert all(0.75 < last[hospital] <= 1 for hospital in HOSPITALS), last
    assert sum(last.values()) > sum(first.values())
    assert lines[-1]["global/auroc"] > 0.8 and 0 < lines[-1]["global/share_of_ones"] < 1
    page = (inline / "report.html").read_text()
    assert all(hospital in page for hospital in HOSPITALS) and "auroc" in page.lower()


def test_own_parts_took_part(inline: Path) -> None:
    last = records(inline)[-1]
    roots = [(patients * 0.8 * 0.8) ** 0.5 for patients in HOSPITALS.values()]  # without test rows and held-out rows
    assert last["weights"] == pytest.approx([root / sum(roots) for root in roots], abs=0.01)
    assert last["rootsize/largest"] == max(last["weights"])
    assert (inline / "sources" / "my_parts.py").read_text() == PARTS
    words = json.loads((inline / "model.json").read_text())
    assert words["name"] == "my_net.py:Net" and words["head"] == ["last.weight", "last.bias"]


def test_ray_has_the_bits_of_inline(folder: Path, inline: Path) -> None:
    said = finished(fedloom(folder, "run", *FLAGS, *RAY, "--out", "ray"))
    assert bits(folder / "ray") == bits(inline), said
    assert records(folder / "ray") == records(inline)


def test_a_changed_file_is_refused_and_the_old_one_gives_the_same_bits(
    folder: Path, inline: Path, killed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "my_parts.py").write_text(PARTS.replace("0.01", "0.02"))
    before = len(records(killed))
    assert main(["run", "--resume", "killed"]) == 2
    sentence = "A resumed run keeps its code, but my_parts.py is not what it was when killed was begun: bring the old text back"
    assert sentence in capsys.readouterr().err
    assert len(records(killed)) == before
    (folder / "my_parts.py").write_text(PARTS)
    finished(fedloom(folder, "run", "--resume", "killed"))
    assert bits(killed) == bits(inline)
    assert records(killed) == records(inline)
    assert all(hospital in (killed / "report.html").read_text() for hospital in HOSPITALS)
