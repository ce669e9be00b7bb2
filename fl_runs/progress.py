"""How a run shows its progress: a bar on a terminal, plain lines elsewhere. It reads the records and nothing else."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from fl_runs.reading import headline_key, never_right, warning
from fl_strategies.round.records import Observer, Record


def headline(record: Record) -> str:
    """The figures of one round in a few words: the headline metric, its mean over the clients' own, the losses."""
    key = headline_key(record) or "accuracy"
    name = key.replace("_", "-")
    labels = {f"global/{key}": name, f"personal/{key}": f"personal {name}", "global/loss": "loss"}
    words = []
    for place, label in (labels | {"train/loss": "training loss"}).items():
        value = record.get(place)
        if isinstance(value, float):
            words.append(f"{label} {value:.4f}")
    if record.get("dropped"):
        words.append(f"{len(record['dropped'])} left out")
    return ", ".join(words)


class LastWords:
    """What is said once, at the end of a run: which classes its last evaluation found at 0."""

    def __init__(self) -> None:
        self.rounds = 0
        self.classes: list[int] = []
        self.said = False

    def hear(self, record: Record) -> None:
        if isinstance(record.get("global/class_accuracy"), list):
            self.classes = never_right(record["global/class_accuracy"]) if record["round"] else []

    def due(self, round: int | None = None) -> str | None:
        """The sentence, after the last round or, without a round, where the run ended before it."""
        if self.said or not self.classes or (round is not None and round < self.rounds):
            return None
        self.said = True
        return f"Warning: {warning(self.classes)} (classes are counted from 0)."


class Warner(Observer):
    """What both ways of showing a run warn of: clients that are left out, and at the end classes that are never right."""

    def __init__(self) -> None:
        self.last_words = LastWords()

    def dropped(self, round: int, client: Any, reason: str) -> None:
        self._say(f"round {round}: client {client} is left out: {reason}")

    def _warn(self, round: int | None = None) -> None:
        if (words := self.last_words.due(round)) is not None:
            self._say(words)

    def _say(self, line: str) -> None:
        raise NotImplementedError


class PlainProgress(Warner):
    """One line per round, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self.stream = stream or sys.stdout
        self.rounds = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._warn()
        self.stream.flush()

    def started(self, info: Record) -> None:
        self.rounds = self.last_words.rounds = info["rounds"]
        self._say(f"{info['strategy']}: {info['clients']} clients, rounds {info['first_round']} to {info['rounds']}")

    def recorded(self, record: Record) -> None:
        seconds = sum(record.get("seconds", {}).values())
        self._say(
            f"round {record['round']}/{self.rounds}  {headline(record)}" + (f"  ({seconds:.1f} s)" if seconds else "")
        )
        self.last_words.hear(record)
        self._warn(record["round"])

    def _say(self, line: str) -> None:
        print(line, file=self.stream, flush=True)


class BarProgress(Warner):
    """Rounds, clients of the round, the round's figures and time left, on a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[figures]}"),
            console=console,
        )
        self.rounds: TaskID | None = None
        self.clients: TaskID | None = None

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()
        if kind is None:
            self._warn()

    def started(self, info: Record) -> None:
        self.last_words.rounds = info["rounds"]
        self.rounds = self.bar.add_task(
            info["strategy"], total=info["rounds"], completed=info["first_round"] - 1, figures=""
        )
        self.clients = self.bar.add_task("  clients", total=None, figures="")

    def replied(self, round: int, done: int, total: int) -> None:
        if self.clients is not None:
            self.bar.update(self.clients, total=total, completed=done)

    def recorded(self, record: Record) -> None:
        if self.rounds is not None:
            self.bar.update(self.rounds, completed=record["round"], figures=headline(record))
        self.last_words.hear(record)
        self._warn(record["round"])

    def _say(self, line: str) -> None:
        self.bar.console.print(line, style="yellow", markup=False, highlight=False)


def progress() -> PlainProgress | BarProgress:
    return BarProgress() if sys.stdout.isatty() else PlainProgress()
