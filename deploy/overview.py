"""How a federation is doing: its sites and its runs, from what the server says and from the run folders on its host.

Whoever asks from elsewhere, through a tunnel, has no run folders: what only they know is None then.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from deploy.upkeep import DATABASE
from fl_protocol.flower.control import REVOKED, RegisteredNode, SubmittedRun
from fl_runs.reading import SITES, RunFolderError, RunRecord, read_run

UNDER_WAY = ("pending", "starting", "running")
RECENT = 5  # rounds whose mean time foretells the others'


@dataclass(frozen=True)
class Site:
    name: str  # empty where nobody has given it one
    state: str  # online, offline, registered (and never seen), revoked
    since: datetime | None
    fedloom: str | None = None
    examples: int | None = None
    run: str | None = None  # the folder of its last run, of which the next two speak
    last_round: int | None = None  # that it answered in
    left_out: int | None = None  # rounds of that run in which its reply was not used


@dataclass(frozen=True)
class Run:
    number: str
    folder: str
    strategy: str
    state: str
    submitted: datetime | None
    rounds: int
    round: int | None = None  # the last one that is finished
    metric: str | None = None
    value: float | None = None
    seconds_left: float | None = None
    reason: str | None = None  # why it failed


@dataclass(frozen=True)
class Overview:
    sites: list[Site]
    runs: list[Run]

    @classmethod
    def of(cls, nodes: Sequence[RegisteredNode], runs: Sequence[SubmittedRun], folder: Path) -> Overview:
        """`folder` is the server's; one that does not exist, or is not a server's, is no error."""
        here = folder if (folder / DATABASE).is_file() else None
        records = {run.number: _record(here, run) for run in runs}
        kept = [record for run in runs if (record := records[run.number]) is not None]
        return cls(sites_of(nodes, kept), [_run(run, records[run.number]) for run in runs])

    def to_json(self, warnings: Sequence[str] = ()) -> str:
        def plain(value: object) -> str:
            assert isinstance(value, datetime)
            return value.isoformat()

        return json.dumps({**asdict(self), "warnings": list(warnings)}, indent=2, default=plain)


def sites_of(nodes: Iterable[RegisteredNode], records: Sequence[RunRecord]) -> list[Site]:
    """One row per name: the key that was registered last. `records` are the runs, the newest first."""
    told = [_told(record.folder) for record in records]
    names = {about["node"]: name for sites in reversed(told) for name, about in sites.items()}
    newest: dict[str | int, RegisteredNode] = {}
    for node in nodes:
        newest[node.name or names.get(node.number, "") or node.number] = node
    found = []
    for called, node in newest.items():
        name = called if isinstance(called, str) else ""
        taken = next(
            ((record, sites[name]) for record, sites in zip(records, told, strict=True) if name in sites), None
        )
        found.append(_site(name, node, *taken) if taken else Site(name, node.state, node.since))
    return sorted(found, key=lambda site: (site.state == REVOKED, site.name == "", site.name))


def _site(name: str, node: RegisteredNode, record: RunRecord, about: Mapping[str, Any]) -> Site:
    client = about["client"]
    answered = [line["round"] for line in record.metrics if client in line.get("cohort", [])]
    dropped = [line for line in record.metrics if any(one["id"] == client for one in line.get("dropped", []))]
    return Site(
        name,
        node.state,
        node.since,
        fedloom=about["software"],
        examples=about["examples"],
        run=record.folder.name,
        last_round=max(answered, default=None),
        left_out=len(dropped),
    )


def _told(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        sites: dict[str, dict[str, Any]] = json.loads((folder / SITES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return sites


def _record(server: Path | None, run: SubmittedRun) -> RunRecord | None:
    if server is None or not run.folder:
        return None
    try:
        return read_run(server / run.folder)
    except RunFolderError:
        return None  # it has not begun, or its folder was moved away


def _run(run: SubmittedRun, record: RunRecord | None) -> Run:
    options = run.options
    shown = Run(
        number=str(run.number),
        folder=run.folder,
        strategy=str(options.get("strategy", "")),
        state=run.state,
        submitted=run.submitted,
        rounds=int(options.get("rounds", 0)),
        reason=run.details or None,
    )
    if record is None:
        return shown
    rounds = int(record.config.get("rounds", shown.rounds))
    done = max((line["round"] for line in record.metrics), default=0)
    known = {"rounds": rounds, "round": done, "strategy": record.strategy, **_score(record)}
    if run.state in UNDER_WAY:
        known["seconds_left"] = _seconds_left(record, rounds - done)
    return Run(**{**vars(shown), **known})


def _score(record: RunRecord) -> dict[str, Any]:
    """The headline metric of the last round that has one."""
    headline = record.headline
    for prefix in ("global", "personal"):
        if series := record.series(f"{prefix}/{headline.key}"):
            return {"metric": headline.name, "value": series[max(series)]}
    return {}


def _seconds_left(record: RunRecord, rounds: int) -> float | None:
    took = [sum(line["seconds"].values()) for line in record.metrics if line["round"] and "seconds" in line]
    return statistics.fmean(took[-RECENT:]) * max(0, rounds) if took else None
