"""How a run shows its progress: bars with the last figures below on a terminal, plain lines elsewhere. It reads the records only."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from fl_runs.reading import headline_key, never_right, warning
from fl_strategies.round.records import Observer, Record

MOST_LINES = 100  # of a run, where nobody looks at a bar
WIDEST = 25  # characters of a strategy's name in front of a bar, which leaves room for the rest in 80 columns
MOST_DROPPED = 20  # clients that are left out, told one by one


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
    if isinstance(spent := record.get("privacy/epsilon"), float):
        words.append(f"epsilon {spent:.4g}")
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
        self.left_out = 0

    def dropped(self, round: int, client: Any, reason: str) -> None:
        self.left_out += 1
        if self.left_out <= MOST_DROPPED:
            self._say(f"round {round}: client {client} is left out: {reason}")
        if self.left_out == MOST_DROPPED:
            self._say("More clients that are left out are named in log.txt and metrics.jsonl.")

    def ended(self, summary: Record) -> None:
        if summary.get("ended"):
            self._say(f"The run ends after round {summary['rounds']}. {summary['ended']}")

    def _warn(self, round: int | None = None) -> None:
        if (words := self.last_words.due(round)) is not None:
            self._say(words)

    def _explain(self, info: Record) -> None:
        if info.get("privacy"):
            self._say(info["privacy"])

    def _say(self, line: str) -> None:
        raise NotImplementedError


class PlainProgress(Warner):
    """One line per round, for logs and pipes; of many rounds, one per so many that a log stays readable, and the last."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self.stream = stream or sys.stdout
        self.rounds, self.every = 0, 1
        self.unsaid = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.unsaid:  # the run ended between two lines
            self._say(self.unsaid)
        if kind is None:
            self._warn()
        self.stream.flush()

    def started(self, info: Record) -> None:
        self.rounds = self.last_words.rounds = info["rounds"]
        self.every = math.ceil((info["rounds"] - info["first_round"] + 1) / MOST_LINES)
        self._say(f"{info['strategy']}: {info['clients']} clients, rounds {info['first_round']} to {info['rounds']}")
        self._explain(info)

    def recorded(self, record: Record) -> None:
        round, seconds = record["round"], sum(record.get("seconds", {}).values())
        line = f"round {round}/{self.rounds}  {headline(record)}" + (f"  ({seconds:.1f} s)" if seconds else "")
        due = self.every < 2 or round % self.every == 0 or round in (1, self.rounds)
        self.unsaid = "" if due else line
        if due:
            self._say(line)
        self.last_words.hear(record)
        self._warn(record["round"])

    def _say(self, line: str) -> None:
        print(line, file=self.stream, flush=True)


class Bars(Progress):
    """Bars with a line of figures below, which has the whole width of the terminal to itself and stays when the bars end."""

    figures = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.figures:
            yield Text(self.figures)


class BarProgress(Warner):
    """Rounds, clients of the round, time left, and below them the figures of the last round, on a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self.bar = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
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
        if self.clients is not None:
            self.bar.update(self.clients, visible=False)
        self.bar.stop()
        if kind is None:
            self._warn()

    def started(self, info: Record) -> None:
        self.last_words.rounds = info["rounds"]
        name = info["strategy"] if len(info["strategy"]) <= WIDEST else f"{info['strategy'][: WIDEST - 3]}..."
        self.rounds = self.bar.add_task(name, total=info["rounds"], completed=info["first_round"] - 1)
        self.clients = self.bar.add_task("  clients", total=None)
        self._explain(info)

    def replied(self, round: int, done: int, total: int) -> None:
        if self.clients is not None:
            self.bar.update(self.clients, total=total, completed=done)

    def recorded(self, record: Record) -> None:
        if self.rounds is not None:
            self.bar.figures = f"round {record['round']}: {headline(record)}"
            self.bar.update(self.rounds, completed=record["round"])
        self.last_words.hear(record)
        self._warn(record["round"])

    def _say(self, line: str) -> None:
        self.bar.console.print(Text(line, style="yellow"))  # a style of `print` would colour the bars too


def progress() -> PlainProgress | BarProgress:
    return BarProgress() if sys.stdout.isatty() else PlainProgress()
