"""How a sweep shows the runs that go on at once: one bar per run and one for all of them on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

LONGEST_NAME = 32  # characters of a run's name in front of its bar


class Screen:
    """What is told about the runs of a sweep, by their names. This one shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def opens(self, total: int, done: int) -> None:
        """Of so many runs, so many are finished already."""

    def begins(self, name: str) -> None:
        """A process has been given this run."""

    def started(self, name: str, first_round: int, rounds: int) -> None:
        """Its clients are there."""

    def recorded(self, name: str, round: int, figures: str) -> None:
        """A round of it is finished."""

    def says(self, name: str, sentence: str) -> None:
        """Something that the user should know."""

    def ended(self, name: str, finished: bool) -> None:
        """It is finished, was stopped, or has failed."""


class PlainScreen(Screen):
    """One line per event, each with the name of the run."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.total = self.number = 0
        self.rounds: dict[str, int] = {}

    def opens(self, total: int, done: int) -> None:
        self.total, self.number = total, done
        self._line(f"{total} runs" + (f", of which {done} are finished already" if done else ""))

    def begins(self, name: str) -> None:
        self.number += 1
        self._line(f"[{self.number}/{self.total}] {name}")

    def started(self, name: str, first_round: int, rounds: int) -> None:
        self.rounds[name] = rounds
        if first_round > 1:
            self._line(f"{name}: goes on with round {first_round}")

    def recorded(self, name: str, round: int, figures: str) -> None:
        self._line(f"{name}: round {round}/{self.rounds.get(name, '?')}  {figures}")

    def says(self, name: str, sentence: str) -> None:
        self._line(f"{name}: {sentence}")

    def _line(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


class BarScreen(Screen):
    """The runs that go on, each with its rounds and its latest figures; a finished one leaves one line."""

    def __init__(self, console: Console | None = None) -> None:
        self.bar = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[figures]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=console,
        )
        self.all: TaskID | None = None
        self.tasks: dict[str, TaskID] = {}
        self.figures: dict[str, str] = {}

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def opens(self, total: int, done: int) -> None:
        self.all = self.bar.add_task("runs", total=total, completed=done, figures="")

    def begins(self, name: str) -> None:
        short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME // 2]}…{name[-LONGEST_NAME // 2 + 1 :]}"
        self.tasks[name] = self.bar.add_task(f"  {short}", total=None, figures="")

    def started(self, name: str, first_round: int, rounds: int) -> None:
        self.bar.update(self.tasks[name], total=rounds, completed=first_round - 1)

    def recorded(self, name: str, round: int, figures: str) -> None:
        self.figures[name] = figures
        self.bar.update(self.tasks[name], completed=round, figures=figures)

    def says(self, name: str, sentence: str) -> None:
        self.bar.console.print(f"{name}: {sentence}", style="yellow", markup=False, highlight=False)

    def ended(self, name: str, finished: bool) -> None:
        self.bar.remove_task(self.tasks.pop(name))
        if finished:
            self.bar.console.print(f"{name}: {self.figures.get(name, 'finished')}", markup=False, highlight=False)
            if self.all is not None:
                self.bar.advance(self.all)


def screen() -> Screen:
    return BarScreen() if sys.stdout.isatty() else PlainScreen()
