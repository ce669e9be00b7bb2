"""The processes of a sweep as the parent sees them: each is given one run at a time, and what it says is read as it comes."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import simulation
from fl_config.errors import last_line
from simulation.sweep.child import BOOT
from simulation.sweep.grid import Job
from simulation.sweep.screen import Screen

OURS = str(Path(simulation.__file__).resolve().parents[1])
MOMENT = 0.2  # seconds between two looks at whether to stop


@dataclass
class Outcome:
    """How a sweep went: the runs that are finished, and what went wrong with others, by name."""

    finished: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    stopped: bool = False


class Child:
    """One process, and the run that it works on."""

    def __init__(self) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile("ab+")  # noqa: SIM115 (as long as the process)
        # A group of its own: Ctrl-C in the terminal is the parent's to hear, which then asks the runs to stop.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            process_group=0,
        )
        assert self.process.stdin and self.process.stdout
        self.orders, self.told = self.process.stdin, self.process.stdout
        os.set_blocking(self.told.fileno(), False)
        self.job: Job | None = None
        self.said_before = 0  # bytes on its standard error before this run
        self.rest = b""
        path = [entry or os.getcwd() for entry in sys.path]
        self.order({"path": [OURS, *(entry for entry in path if entry != OURS)], "parent": os.getpid()})

    def order(self, content: dict[str, Any]) -> None:
        try:
            self.orders.write(json.dumps(content).encode() + b"\n")
            self.orders.flush()
        except BrokenPipeError:
            return  # it has ended, which the reader of what it says is about to see

    def give(self, job: Job) -> None:
        self.job, self.said_before = job, os.fstat(self.errors.fileno()).st_size
        self.order({"name": job.name, "values": job.values})

    def heard(self) -> tuple[list[tuple[str, Any]], bool]:
        """What it has said since, and whether it has ended."""
        data = self.told.read()
        if data is None:
            return [], False
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [tuple(json.loads(line)) for line in lines], not data

    def complaints(self) -> str:
        """What it wrote to its standard error during this run."""
        end = os.fstat(self.errors.fileno()).st_size
        return os.pread(self.errors.fileno(), end - self.said_before, self.said_before).decode(errors="replace")

    def close(self) -> None:
        self.orders.close()
        self.process.wait()
        self.told.close()
        self.errors.close()


class Crews:
    """Makes runs, so many side by side. A run that fails, even with its process, does not touch the others."""

    def __init__(self, folder: Path, screen: Screen, stop: threading.Event) -> None:
        self.folder, self.screen, self.stop = folder, screen, stop
        self.outcome = Outcome()
        self.asked = False  # the runs that go on to stop
        self.waiting: deque[Job] = deque()
        self.selector = selectors.DefaultSelector()
        self.children: list[Child] = []

    def make(self, jobs: Sequence[Job], side_by_side: int) -> Outcome:
        self.waiting.extend(jobs)
        try:
            for _ in range(0 if self.stop.is_set() else min(side_by_side, len(jobs))):
                self._begin()
            while self.children:
                self._look()
        finally:
            for child in self.children:
                child.close()
            self.selector.close()
        # What was over before it heard of it was not stopped.
        self.outcome.stopped = self.stop.is_set() and len(self.outcome.finished) + len(self.outcome.failed) < len(jobs)
        return self.outcome

    def _begin(self) -> None:
        child = Child()
        self.children.append(child)
        self.selector.register(child.told, selectors.EVENT_READ, child)
        self._next(child)

    def _next(self, child: Child) -> None:
        """Give it a run, or let it end."""
        if self.waiting and not self.stop.is_set():
            job = self.waiting.popleft()
            self.screen.begins(job.name)
            child.give(job)
        else:
            self._end(child)

    def _end(self, child: Child) -> None:
        self.selector.unregister(child.told)
        self.children.remove(child)
        child.close()

    def _look(self) -> None:
        if self.stop.is_set() and not self.asked:
            self.asked = True
            for child in self.children:
                child.order({"stop": True})
        for key, _ in self.selector.select(MOMENT):
            speaker: Child = key.data
            said, gone = speaker.heard()
            for what, content in said:
                self._hear(speaker, what, content)
            if gone and speaker in self.children:
                self._lost(speaker)

    def _hear(self, child: Child, what: str, content: Any) -> None:
        assert child.job is not None
        name = child.job.name
        if what == "started":
            self.screen.started(name, content["first_round"], content["rounds"])
        elif what == "recorded":
            self.screen.recorded(name, content["round"], content["figures"])
        elif what == "said":
            self.screen.says(name, content)
        else:
            self._ended(child, name, content)
            child.job = None
            self._next(child)

    def _ended(self, child: Child, name: str, content: dict[str, Any]) -> None:
        problem = content.get("problem")
        if content["finished"]:
            self.outcome.finished.append(name)
        elif problem is not None:
            self._failed(name, problem, child.complaints() if content.get("unexpected") else "")
        self.screen.ended(name, content["finished"])

    def _lost(self, child: Child) -> None:
        """Its process ended of itself, as one does that runs out of memory; the other runs get another one."""
        complaints, job = child.complaints() if child.job else "", child.job
        self._end(child)
        if job is None:
            return
        code = child.process.returncode
        how = f"its process was ended by signal {-code}" if code < 0 else f"its process ended with exit code {code}"
        self._failed(job.name, f"{how} ({last_line(complaints)})" if complaints.strip() else how, complaints)
        self.screen.ended(job.name, False)
        if self.waiting and not self.stop.is_set():
            self._begin()

    def _failed(self, name: str, problem: str, complaints: str) -> None:
        text = problem.rstrip(".") + "."
        if complaints.strip():
            place = self.folder / f"{name}.error.txt"
            try:
                place.write_text(complaints, encoding="utf-8")
                text += f" All of it is in {place}."
            except OSError as full:  # which may well be why the run failed; the others go on
                text += f" More cannot be written to {place}: {full}."
        self.outcome.failed[name] = text
        self.screen.says(name, f"failed: {text}")
