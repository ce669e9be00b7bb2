"""What the system refuses in the midst of a run: one sentence, nothing lost, and the resumed run has the bits of an undisturbed one."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from fedloom.cli.main import main
from fl_config.errors import RunCutShort
from fl_strategies.round.records import Observer, Record
from simulation.runner import Run, run

SMALL = {"dataset": "digits", "model": "linear", "clients": 3, "fraction": 0.7, "rounds": 6, "engine": "inline"}
FLAGS = [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]


class After(Observer):
    """Does something after a round."""

    def __init__(self, round: int, act: Callable[[], object]) -> None:
        self.round, self.act = round, act

    def recorded(self, record: Record) -> None:
        if record["round"] == self.round:
            self.act()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run({**SMALL, "strategy": "scaffold", "out": str(tmp_path_factory.mktemp("whole") / "run")})


def lines(folder: Path) -> list[dict[str, Any]]:
    kept = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in record.items() if key != "seconds"} for record in kept]


def assert_same(folder: Path, whole: Run) -> None:
    assert lines(folder) == lines(whole.folder)
    model, other = (load_file(each / "model.safetensors") for each in (folder, whole.folder))
    assert all((model[name] == other[name]).all() for name in other)
    assert [item.name for item in (folder / "checkpoint").iterdir()] == ["state.safetensors"]
    assert not [item.name for item in folder.iterdir() if item.name.startswith(".")]


def test_a_full_disk_in_round_5_loses_nothing(tmp_path: Path, undisturbed: Run) -> None:
    """The lines go to a device that is always full, which is what a full disk says."""
    out, aside = tmp_path / "run", tmp_path / "aside.jsonl"

    def fill() -> None:
        (out / "metrics.jsonl").rename(aside)
        (out / "metrics.jsonl").symlink_to("/dev/full")

    with pytest.raises(RunCutShort) as told:
        run({**SMALL, "strategy": "scaffold", "out": str(out)}, [After(4, fill)])
    assert str(told.value) == (
        f"{out / 'metrics.jsonl'} cannot be used (No space left on device): make room on the disk. "
        f"Rounds up to 4 are kept; continue with: fedloom run --resume {out}"
    )
    assert json.loads((out / "summary.json").read_text())["finished"] is False
    aside.replace(out / "metrics.jsonl")
    assert [line["round"] for line in lines(out)] == [0, 1, 2, 3, 4]
    assert run({"resume": str(out)}).finished
    assert_same(out, undisturbed)


@pytest.mark.parametrize("name", [".state.safetensors", ".model.safetensors", ".summary.json"])
def test_a_checkpoint_or_a_model_that_cannot_be_written_loses_nothing(
    name: str, tmp_path: Path, undisturbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From round 4 on, files of this name find no room."""
    out, full, sync = tmp_path / "run", [False], os.fsync

    def check_room(descriptor: int) -> None:
        if full[0] and Path(os.readlink(f"/proc/self/fd/{descriptor}")).name.startswith(name):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    monkeypatch.setattr("os.fsync", check_room)
    with pytest.raises(RunCutShort, match=r"No space left on device.*: make room.*continue with: fedloom run --resume"):
        run({**SMALL, "strategy": "scaffold", "out": str(out)}, [After(3, lambda: full.__setitem__(0, True))])
    full[0] = False
    assert run({"resume": str(out)}).finished
    assert_same(out, undisturbed)


def test_a_limit_on_files_ends_the_command_with_one_sentence(tmp_path: Path) -> None:
    """A real limit of the system; the line of some round is the first that goes beyond it."""
    out = tmp_path / "run"
    done = subprocess.run(
        [sys.executable, "-m", "fedloom", "run", *FLAGS, "--rounds", "12", "--out", str(out)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000)),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    (told,) = done.stderr.splitlines()
    assert told.startswith(f"fedloom: {out / 'metrics.jsonl'} cannot be used (File too large)") and "--resume" in told
    assert main(["run", "--resume", str(out)]) == 0
    assert [line["round"] for line in lines(out)] == list(range(13))


def test_a_folder_that_vanishes_is_not_made_again(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(
        RunCutShort, match=r"run cannot be used \(No such file or directory\).*nothing of the run is left"
    ):
        run({**SMALL, "out": str(out)}, [After(2, lambda: shutil.rmtree(out))])
    assert not out.exists()


def test_a_report_that_cannot_be_written_leaves_the_run_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    monkeypatch.setattr(
        "fl_runs.progress.PlainProgress.started", lambda self, info: (out / "report.html").mkdir(), raising=True
    )
    assert main(["run", *FLAGS, "--rounds", "1", "--out", str(out)]) == 2
    told = capsys.readouterr().err
    assert told == (
        f"fedloom: The run is finished, but not its report: {out / 'report.html'} cannot be used (Is a directory): a folder "
        f"stands where a file is needed, choose another name. Write it with: fedloom report {out}\n"
    )
    assert json.loads((out / "summary.json").read_text())["finished"] is True


@pytest.mark.parametrize("name", ["config.toml", "partition.json", "log.txt"])
def test_a_disk_that_is_full_from_the_start_leaves_no_folder(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    def refuse(self: Path, *arguments: Any, **others: Any) -> Any:
        if name in self.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
        return opened(self, *arguments, **others)

    monkeypatch.setattr(Path, "open", refuse)
    if name == "log.txt":
        monkeypatch.setattr("fl_runs.folder.Log", lambda path, **_: refuse(path))
    assert main(["run", *FLAGS, "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert (
        told == f"fedloom: {tmp_path / 'run' / name} cannot be used (No space left on device): make room on the disk.\n"
    )
    assert list(tmp_path.iterdir()) == []
