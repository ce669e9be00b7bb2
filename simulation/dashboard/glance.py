"""A run at a glance, for lists of many: a few options, the summary and the end of the metrics, never the whole of them.

A finished run costs two small files; what cannot be read is told in the record's `problem` and never raised.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fl_config.held_files import is_held
from fl_runs.reading import SITES, Headline, RunRecord, is_number

State = Literal["running", "finished", "stopped", "failed", "unreadable"]
SHOWN = ("strategy", "dataset", "partition", "model", "clients", "rounds", "seed", "headline", "task", "engine")
PLAIN_LINE = re.compile(rf"^({'|'.join(SHOWN)}) = (.+)$", re.MULTILINE)
TAIL = 1 << 18  # bytes of metrics.jsonl that are looked at, from its end
LOG_TAIL = 1 << 12
LISTED = ("config.toml", "summary.json", "metrics.jsonl")  # what a list goes by, and below what a page does
SHOWN_FILES = (*LISTED, "partition.json", "tables.json", "model.json", SITES)
Signature = tuple[tuple[int, int], ...]


@dataclass
class Glance:
    """What a list shows of a run."""

    record: RunRecord  # with the last lines of its metrics only
    state: State
    changed: float  # seconds since the epoch
    problem: str = ""

    @property
    def rounds(self) -> int:
        told = self.record.summary.get("rounds")
        last = max((line["round"] for line in self.record.metrics), default=0)
        return told if isinstance(told, int) and self.state != "running" else last

    @property
    def planned(self) -> int | None:
        planned = self.record.config.get("rounds")
        return planned if isinstance(planned, int) else None

    @property
    def headline(self) -> Headline:
        return self.record.headline

    def figure(self) -> float | None:
        """The last headline: of the global model, or of the clients where there is none."""
        keys = [f"{place}/{self.headline.key}" for place in ("global", "personal")]
        final = self.record.summary.get("final")
        lines = [*reversed(self.record.metrics), *([final] if isinstance(final, dict) else [])]
        if self.state != "running":
            lines.reverse()
        for line in lines:
            for key in keys:
                if is_number(line.get(key)):
                    return float(line[key])
        return float(final) if isinstance(final, int | float) and is_number(final) else None


def signature(folder: Path, names: Sequence[str] = LISTED) -> Signature:
    """What changes when a run's files do; (0, 0) for a file that is not there."""
    found, place = [], str(folder)
    for name in names:
        try:
            stat = os.stat(f"{place}/{name}")
            found.append((stat.st_mtime_ns, stat.st_size))
        except OSError:
            found.append((0, 0))
    return tuple(found)


def glance(folder: Path) -> Glance:
    """Look at a run folder; whatever is wrong with it becomes a sentence."""
    record = RunRecord(folder, {}, [], {}, None, folder.name)
    changed = max(time for time, _ in signature(folder)) / 1e9
    try:
        record.config = _options((folder / "config.toml").read_text(encoding="utf-8"))
        record.summary = _object(folder / "summary.json")
        if not isinstance(record.summary.get("final"), dict):
            record.metrics = last_lines(folder / "metrics.jsonl")
    except (OSError, ValueError) as error:
        return Glance(record, "unreadable", changed, f"{folder.name} cannot be read: {_reason(error)}.")
    state, problem = state_of(folder, record)
    if state == "running" and not record.metrics:
        record.metrics = last_lines(folder / "metrics.jsonl")  # it was stopped, and goes on
    return Glance(record, state, changed, problem)


def state_of(folder: Path, record: RunRecord) -> tuple[State, str]:
    """Whether the run goes on or how it ended, and what its log says of that."""
    if record.finished:
        return "finished", ""
    if is_held(folder / "log.txt"):
        return "running", ""
    if error := _last_error(folder / "log.txt"):
        return "failed", error
    if record.summary:
        return "stopped", ""
    return "failed", "Its process ended without a word; `fedloom run --resume` goes on after its last checkpoint."


def last_lines(path: Path) -> list[dict[str, Any]]:
    """The last whole line, after the last one with a figure where that is another; a half-written line is left out."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            text = file.read()
    except OSError:
        return []
    found: list[dict[str, Any]] = []
    for line in reversed(text.split(b"\n")[1 if size > TAIL else 0 :]):
        record = _record(line)
        if record is None:
            continue
        scored = any(key.startswith(("global/", "personal/")) and is_number(value) for key, value in record.items())
        if scored or not found:
            found.insert(0, record)
        if scored:
            break
    return found


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and type(record.get("round")) is int else None


def _options(text: str) -> dict[str, Any]:
    """The options that a list shows. A run writes one per line, as JSON would have them: TOML is parsed for anything else only,
    which takes twenty times as long."""
    head = text.partition("\n[")[0]
    try:
        return {key: json.loads(value) for key, value in PLAIN_LINE.findall(head)}
    except ValueError:
        return {key: value for key, value in tomllib.loads(text).items() if key in SHOWN}


def _object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} holds no JSON object")
    return content


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error).rstrip(".")


def _last_error(log: Path) -> str:
    """The text of the last line of the log that says an error, if it is the last thing that happened."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(" ERROR ")[2] for line in reversed(lines) if " ERROR " in line), "")
