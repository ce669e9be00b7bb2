"""How a run shows its progress: a bar on a terminal, plain lines elsewhere. It reads the records and nothing else."""

from __future__ import annotations

import sys
import time
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

from fl_strategies.round.records import Observer, Record


def headline(record: Record) -> str:
    """The figures of one round in a few words."""
    words = []
    for key, label in (
        ("global/accuracy", "accuracy"),
        ("personal/accuracy", "personal accuracy"),
        ("global/loss", "loss"),
        ("train/loss", "training loss"),
    ):
        value = record.get(key)
        if isinstance(value, float):
            words.append(f"{label} {value:.4f}")
    if record.get("dropped"):
        words.append(f"{len(record['dropped'])} left out")
    return ", ".join(words)


class PlainProgress(Observer):
    """One line per round, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.rounds, self.began = 0, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.flush()

    def started(self, info: Record) -> None:
        self.rounds = info["rounds"]
        self._say(f"{info['strategy']}: {info['clients']} clients, rounds {info['first_round']} to {info['rounds']}")

    def recorded(self, record: Record) -> None:
        seconds = sum(record.get("seconds", {}).values())
        self._say(
            f"round {record['round']}/{self.rounds}  {headline(record)}" + (f"  ({seconds:.1f} s)" if seconds else "")
        )

    def dropped(self, round: int, client: Any, reason: str) -> None:
        self._say(f"round {round}: client {client} is left out: {reason}")

    def _say(self, line: str) -> None:
        print(line, file=self.stream, flush=True)


class BarProgress(Observer):
    """Rounds, clients of the round, accuracy and time left, on a terminal."""

    def __init__(self, console: Console | None = None) -> None:
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

    def started(self, info: Record) -> None:
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

    def dropped(self, round: int, client: Any, reason: str) -> None:
        self.bar.console.print(
            f"round {round}: client {client} is left out: {reason}", style="yellow", markup=False, highlight=False
        )


def progress() -> PlainProgress | BarProgress:
    return BarProgress() if sys.stdout.isatty() else PlainProgress()
