"""The folder of a sweep: the same sweep goes on there, another is refused with what differs, and only one works in it at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fl_config.errors import ConfigError
from simulation.sweep.grid import Job
from simulation.sweep.ledger import alone_in, clear_drafts, definition, is_finished, open_folder
from simulation.sweep.sweep_file import runs_of
from tests.runs.made_runs import MakeRun

JOBS = [Job("fedavg-seed0", {}), Job("fedavg-seed1", {})]


def sweep(values: dict[str, Any] | None = None, **changed: Any) -> dict[str, Any]:
    given = {"strategies": ["fedavg"], "grid": {"lr": [0.1, 0.2]}, "seeds": 2, "sources": "", **changed}
    return definition(values or {}, given["strategies"], given["grid"], given["seeds"], given["sources"])


def test_the_same_sweep_goes_on_and_how_it_is_made_does_not_matter(tmp_path: Path) -> None:
    assert not open_folder(tmp_path, sweep({"epochs": 2}), JOBS)
    assert open_folder(tmp_path, sweep({"epochs": 2, "workers": 7, "engine": "inline", "momentum": 0.0}), JOBS)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (sweep(strategies=["fedavg", "local"]), '\'strategies\' is ["fedavg"], here it is ["fedavg", "local"]'),
        (sweep(grid={"lr": [0.1]}), "'grid' is"),
        (sweep(seeds=3), "'seeds' is 2, here it is 3"),
        (sweep({"rounds": 20}), "'rounds' is 10, here it is 20"),
        (sweep({"disco.a": 0.3}), "'disco.a' is null, here it is 0.3"),
        (sweep(sources="my.py=1"), "'sources' is"),
    ],
)
def test_another_sweep_is_refused_with_what_differs(other: dict[str, Any], told: str, tmp_path: Path) -> None:
    open_folder(tmp_path, sweep(), JOBS)
    with pytest.raises(ConfigError) as refused:
        open_folder(tmp_path, other, JOBS)
    assert told in str(refused.value) and "holds another sweep" in str(refused.value)


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ConfigError, match="holds no sweep"):
        open_folder(tmp_path, sweep(), JOBS)
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]


def test_only_one_process_works_in_a_folder(tmp_path: Path) -> None:
    refused = pytest.raises(ConfigError, match="already running")
    with alone_in(tmp_path / "new"), refused, alone_in(tmp_path / "new"):
        pass
    assert not (tmp_path / "new").exists()
    with alone_in(tmp_path / "new"):
        (tmp_path / "new" / "x").write_text("")
    assert [item.name for item in (tmp_path / "new").iterdir()] == ["x"]


def test_runs_are_those_that_have_begun(make_run: MakeRun, tmp_path: Path) -> None:
    open_folder(tmp_path / "s", sweep(), JOBS)
    assert runs_of(tmp_path / "s") == []
    done = make_run("s/fedavg-seed1", rounds=1)
    assert runs_of(tmp_path / "s") == [done] and is_finished(done)
    assert not is_finished(make_run("open", rounds=1, finished=False)) and not is_finished(tmp_path / "nothing")


def test_what_a_kill_left_before_the_configuration_is_cleared_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".config.toml.123").write_text("half")
    clear_drafts(tmp_path)
    assert list(tmp_path.iterdir()) == []
    for name in ("config.toml", ".config.toml.9"):
        (tmp_path / name).write_text("x")
    clear_drafts(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
