"""How a run shows its progress in a notebook: one line that is rewritten, and one line for every warning."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from fl_runs.progress import Warner, headline
from fl_strategies.round.records import Record

PAUSE = 0.5  # seconds between two changes of the line within one round


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook; a terminal's IPython is none."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class NotebookProgress(Warner):
    """Needs no widgets: the line is an output of the cell that is replaced by its next version."""

    def __init__(self) -> None:
        super().__init__()
        self.strategy, self.rounds, self.figures = "", 0, ""
        self.began = self.shown_at = time.monotonic()
        self.line: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._warn()

    def started(self, info: Record) -> None:
        self.strategy, self.rounds = info["strategy"], info["rounds"]
        self.last_words.rounds = info["rounds"]
        self._show(f"{info['clients']} clients, rounds {info['first_round']} to {info['rounds']}")

    def replied(self, round: int, done: int, total: int) -> None:
        if time.monotonic() - self.shown_at > PAUSE:
            self._show(f"round {round}/{self.rounds}, client {done} of {total}  {self.figures}")

    def recorded(self, record: Record) -> None:
        self.figures = headline(record)
        self._show(f"round {record['round']}/{self.rounds}  {self.figures}")
        self.last_words.hear(record)
        self._warn(record["round"])

    def _show(self, text: str) -> None:
        from IPython.display import display

        self.shown_at = time.monotonic()
        content = {"text/plain": f"{self.strategy}: {text}  ({self.shown_at - self.began:.0f} s)"}
        if self.line is None:
            self.line = display(content, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self.line.update(content, raw=True)

    def _say(self, line: str) -> None:
        print(line, flush=True)
