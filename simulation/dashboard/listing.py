"""What there is in a folder of runs: runs, and sweeps as one entry each. Only files that have changed are read again."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fl_config.errors import ConfigError
from fl_runs.reading import Headline
from simulation.dashboard.glance import Glance, Signature, State, glance, signature, state_of
from simulation.report.headline import figure_text
from simulation.sweep.sweep_file import FILE, read_sweep

DEEPEST = 3  # folders below the given one
MOST_RUNS = 20_000
SEED = re.compile(r"-seed\d+")
WORST_FIRST: tuple[State, ...] = ("running", "failed", "unreadable", "stopped", "finished")


@dataclass
class Entry:
    """One row of the list: a run, or a sweep with all of its runs. `id` is its place below the folder."""

    id: str
    kind: Literal["run", "sweep"]
    strategy: str
    data: str
    headline: Headline
    figure: float | None
    text: str  # the figure as it is written
    rounds: int
    planned: int | None
    state: State
    changed: float
    folders: list[Path]
    runs: int = 1
    done: int = 0
    problem: str = ""
    seed: int | None = None
    clients: int | None = None
    strategies: list[str] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """As the page has it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "strategy": self.strategy,
            "data": self.data,
            "metric": self.headline.name,
            "better": self.headline.better,
            "figure": self.figure,
            "text": self.text,
            "rounds": self.rounds,
            "planned": self.planned,
            "state": self.state,
            "changed": round(self.changed, 1),
            "runs": self.runs,
            "done": self.done,
            "problem": self.problem,
            "seed": self.seed,
            "clients": self.clients,
        }


class Listing:
    """The entries of a folder, by id. It may be asked from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Path, tuple[Signature, Glance]] = {}
        self._lock = threading.Lock()

    def entries(self) -> dict[str, Entry]:
        """Everything that is there now, the newest first; a folder that is gone has nothing."""
        with self._lock:
            seen: dict[Path, tuple[Signature, Glance]] = {}
            found = [self._entry(place, kind, seen) for place, kind in places(self.folder)]
            self._known = seen
        found.sort(key=lambda entry: entry.changed, reverse=True)
        return {entry.id: entry for entry in found}

    def _entry(self, place: Path, kind: str, seen: dict[Path, tuple[Signature, Glance]]) -> Entry:
        name = place.relative_to(self.folder).as_posix()
        id = place.name if name == "." else name
        if kind == "run":
            return of_run(id, self._glance(place, seen))
        try:
            sweep = read_sweep(place)
        except (ConfigError, OSError) as error:
            return _unreadable(id, place, str(error))
        names = [str(name) for name in sweep["runs"]]
        begun = {name: place / name for name in names if (place / name / "config.toml").is_file()}
        runs = {name: self._glance(folder, seen) for name, folder in begun.items()}
        return of_sweep(id, place, sweep, names, runs)

    def _glance(self, folder: Path, seen: dict[Path, tuple[Signature, Glance]]) -> Glance:
        now, known = signature(folder), self._known.get(folder)
        if known is None or known[0] != now:
            known = (now, glance(folder))
        elif known[1].state not in ("finished", "unreadable"):  # its files are the same, but its process may have ended
            state, problem = state_of(folder, known[1].record)
            known = (now, replace(known[1], state=state, problem=problem))
        seen[folder] = known
        return known[1]


def places(folder: Path) -> Iterator[tuple[Path, Literal["run", "sweep"]]]:
    """The folders of runs and sweeps at and below a folder. What is inside of a run is its own; links are not followed."""
    waiting, count = [(folder, 0)], 0
    while waiting and count < MOST_RUNS:
        place, depth = waiting.pop()
        try:
            with os.scandir(place) as found:
                inside = list(found)
        except OSError:
            continue  # it is gone, or not ours to read
        names = {one.name for one in inside}
        if FILE in names or "config.toml" in names:
            count += 1
            yield place, "sweep" if FILE in names else "run"
        elif depth < DEEPEST:
            below = [one for one in inside if not one.name.startswith(".") and one.is_dir(follow_symlinks=False)]
            waiting += [(Path(one.path), depth + 1) for one in below]


def of_run(id: str, seen: Glance) -> Entry:
    config, figure = seen.record.config, seen.figure()
    return Entry(
        id=id,
        kind="run",
        strategy=seen.record.strategy,
        data=_data(config),
        headline=seen.headline,
        figure=figure,
        text=figure_text(None if figure is None else (figure, None), seen.headline.key),
        rounds=seen.rounds,
        planned=seen.planned,
        state=seen.state,
        changed=seen.changed,
        folders=[seen.record.folder],
        done=int(seen.state == "finished"),
        problem=seen.problem,
        seed=seen.record.seed,
        clients=config.get("clients") if isinstance(config.get("clients"), int) else None,
    )


def of_sweep(id: str, place: Path, sweep: dict[str, Any], names: Sequence[str], runs: dict[str, Glance]) -> Entry:
    """All runs of a sweep: the figure is the best configuration's mean over its seeds, with the deviation."""
    seen = list(runs.values())
    if not seen:
        entry = _unreadable(id, place, "The sweep has no run yet.")
        return replace(entry, state="stopped", runs=len(names), strategy=_strategies(sweep))
    headline = seen[0].headline
    gathered: dict[str, list[float]] = {}
    for name, one in runs.items():
        if (value := one.figure()) is not None and one.headline == headline:
            gathered.setdefault(SEED.sub("", name), []).append(value)
    best: tuple[float, float | None] | None = None
    for values in gathered.values():
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        mean = float(np.mean(values))
        if best is None or headline.best_of([mean, best[0]]) == mean:
            best = (mean, spread)
    states = [one.state for one in seen] + ["stopped"] * (len(names) > len(seen))
    return Entry(
        id=id,
        kind="sweep",
        strategy=_strategies(sweep),
        data=_data(seen[0].record.config),
        headline=headline,
        figure=None if best is None else best[0],
        text=figure_text(best, headline.key),
        rounds=sum(one.rounds for one in seen),
        planned=sum((seen[0].planned or 0) for _ in names) or None,
        state=next(state for state in WORST_FIRST if state in states),
        changed=max(one.changed for one in seen),
        folders=[one.record.folder for one in seen],
        runs=len(names),
        done=sum(one.state == "finished" for one in seen),
        problem=next((one.problem for one in seen if one.problem), ""),
        clients=None,
    )


def _unreadable(id: str, place: Path, problem: str) -> Entry:
    try:
        changed = place.stat().st_mtime
    except OSError:
        changed = 0.0
    return Entry(
        id=id,
        kind="sweep",
        strategy=place.name,
        data="",
        headline=Headline(),
        figure=None,
        text="–",
        rounds=0,
        planned=None,
        state="unreadable",
        changed=changed,
        folders=[],
        problem=problem,
    )


def _strategies(sweep: dict[str, Any]) -> str:
    named = sweep.get("strategies")
    return ", ".join(map(str, named)) if isinstance(named, list) else "sweep"


def _data(config: dict[str, Any]) -> str:
    return " · ".join(str(config[key]) for key in ("dataset", "partition") if config.get(key))
