"""The list of runs: what is found, sweeps as one entry, and a thousand runs without waiting."""

from __future__ import annotations

import json
import os
import shutil
import time
from logging import FileHandler
from pathlib import Path

import pytest

from fl_config.held_files import held
from simulation.dashboard.listing import Listing
from tests.runs.made_runs import write_run


def make_sweep(
    folder: Path, strategies: tuple[str, ...] = ("fedavg", "fedssa"), seeds: int = 3, begun: int = 99
) -> Path:
    names = [f"{strategy}-seed{seed}" for strategy in strategies for seed in range(seeds)]
    folder.mkdir(parents=True)
    (folder / "sweep.json").write_text(json.dumps({"strategies": list(strategies), "runs": names}))
    for name in names[:begun]:
        strategy, seed = name.split("-seed")
        write_run(folder / name, strategy=strategy, seed=int(seed), rounds=4)
    return folder


def test_runs_and_sweeps_are_found_at_any_depth_and_nothing_else(tmp_path: Path) -> None:
    write_run(tmp_path / "a", rounds=2)
    write_run(tmp_path / "deep" / "er" / "b", rounds=2)
    write_run(tmp_path / "too" / "deep" / "by" / "one" / "c", rounds=2)
    write_run(tmp_path / ".hidden" / "d", rounds=2)
    write_run(tmp_path / "a" / "inside", rounds=2)
    make_sweep(tmp_path / "sweep")
    (tmp_path / "notes.txt").write_text("not a run")
    (tmp_path / "empty").mkdir()
    os.symlink(tmp_path, tmp_path / "loop")
    entries = Listing(tmp_path).entries()
    assert set(entries) == {"a", "deep/er/b", "sweep"}
    assert entries["sweep"].kind == "sweep" and len(entries["sweep"].folders) == 6
    assert set(Listing(tmp_path / "a").entries()) == {"a"}
    assert Listing(tmp_path / "nowhere").entries() == {}


def test_a_sweep_has_the_mean_of_its_best_configuration(tmp_path: Path) -> None:
    entry = Listing(make_sweep(tmp_path / "s").parent).entries()["s"]
    assert (entry.strategy, entry.runs, entry.done, entry.state) == ("fedavg, fedssa", 6, 6, "finished")
    finals = [json.loads((folder / "summary.json").read_text())["final"] for folder in entry.folders]
    means = [sum(finals[start : start + 3]) / 3 for start in (0, 3)]
    assert entry.figure == pytest.approx(max(means))
    assert "±" in entry.text


def test_a_sweep_that_goes_on_says_so_and_one_without_runs_too(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path / "s", begun=2)
    assert Listing(tmp_path).entries()["s"].state == "stopped"
    (sweep / "fedavg-seed1" / "summary.json").unlink()
    log = held(FileHandler(sweep / "fedavg-seed1" / "log.txt"))
    entry = Listing(tmp_path).entries()["s"]
    assert (entry.state, entry.done, entry.runs, entry.planned) == ("running", 1, 6, 24)
    log.close()
    make_sweep(tmp_path / "t", begun=0)
    assert Listing(tmp_path).entries()["t"].problem == "The sweep has no run yet."
    (tmp_path / "t" / "sweep.json").write_text("{")
    broken = Listing(tmp_path).entries()["t"]
    assert broken.state == "unreadable" and "not valid JSON" in broken.problem
    assert json.dumps([one.row() for one in Listing(tmp_path).entries().values()])


def test_changes_are_seen_and_files_that_stay_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = Listing(tmp_path)
    folder = write_run(tmp_path / "a", rounds=2, finished=False)
    log = held(FileHandler(folder / "log.txt"))
    assert listing.entries()["a"].state == "running"
    seen: list[str] = []
    from simulation.dashboard import listing as module

    real = module.glance
    monkeypatch.setattr(module, "glance", lambda place: seen.append(place.name) or real(place))
    assert listing.entries()["a"].state == "running" and seen == []
    log.close()
    assert listing.entries()["a"].state == "failed" and seen == []  # no file has changed, but its process has ended
    with (folder / "metrics.jsonl").open("a") as lines:
        lines.write('{"round": 3, "global/accuracy": 0.9}\n')
    assert (listing.entries()["a"].figure, seen) == (0.9, ["a"])
    shutil.rmtree(folder)
    assert listing.entries() == {}


def test_a_thousand_runs_are_listed_without_waiting(tmp_path: Path) -> None:
    first = write_run(tmp_path / "0", rounds=20, clients=10)
    summary = json.loads((first / "summary.json").read_text()) | {"final": {"round": 20, "global/accuracy": 0.5}}
    (first / "summary.json").write_text(json.dumps(summary))
    for number in range(1, 1000):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in ("config.toml", "summary.json", "metrics.jsonl"):
            os.link(first / name, folder / name)
        if number % 10 == 0:
            (folder / "summary.json").unlink()
    listing = Listing(tmp_path)
    began = time.process_time()  # the processor's time, which is the same on a machine that others keep busy
    assert len(listing.entries()) == 1000
    first_time = time.process_time() - began
    began = time.process_time()
    assert len(listing.entries()) == 1000
    again = time.process_time() - began
    print(f"1,000 runs: {first_time:.2f} s, again {again:.2f} s")
    assert first_time < 2 and again < 1
