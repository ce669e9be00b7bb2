"""A case of the bench as its driver sees it: a process of its own that does one round when it is told to, and is timed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulation.bench.process_memory import alive, family, peak_memory

WARM_UP = 2  # rounds that do not count
LOOKS = 2  # rounds after those that count, in which memory is looked at
LAST = 1  # the last round evaluates and is never asked for
PATIENCE = 20  # seconds that a process has to end
OURS = str(Path(__file__).resolve().parents[2])


class Case:
    """A run in a process of its own; `how` is ideal, ray, flower or pfl. Starting it includes its first round.

    Of the ideal there may be several, each with its own of so many shares of every cohort.
    """

    def __init__(
        self, how: str, options: Mapping[str, Any], rounds: int, workers: int, share: int = 0, shares: int = 1
    ) -> None:
        total = rounds + WARM_UP + LOOKS + LAST
        case = {"how": how, "options": dict(options), "rounds": total, "workers": workers}
        case |= {"share": share, "shares": shares}
        self.description = f"{how} {dict(options)}"
        self.seconds: list[float] = []
        self.peak_mb = 0.0
        self._complaints: deque[str] = deque(maxlen=20)
        began = time.perf_counter()
        # With -P and this path the case imports what this process does, whatever lies in the current folder.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "simulation.bench.case", json.dumps(case)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), OURS])},
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        try:
            self.go()
            self.done()
        except BaseException:
            self.close()
            raise
        self.first_round = time.perf_counter() - began

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self._complaints.extend(self.process.stderr)

    def go(self) -> None:
        """Let the case do its next round."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("go\n")
            self.process.stdin.flush()

    def done(self) -> None:
        """Wait until the round has ended."""
        assert self.process.stdout is not None
        if not any(line.startswith('{"round"') for line in self.process.stdout):
            self.process.wait()
            self._listener.join()
            raise RuntimeError(
                f"The case {self.description} ended after {len(self.seconds)} rounds:\n{''.join(self._complaints)}"
            )

    def round(self) -> None:
        """A round that counts."""
        began = time.perf_counter()
        self.go()
        self.done()
        self.seconds.append(time.perf_counter() - began)

    def look(self) -> None:
        """A round in which memory is looked at, which takes the processes' time."""
        with peak_memory(self.process.pid) as peak:
            self.go()
            self.done()
        self.peak_mb = max(self.peak_mb, peak.mb)

    def close(self) -> None:
        """End the case and everything it started."""
        members = family(self.process.pid)
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        for pid in members - {os.getpid()}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        deadline = time.monotonic() + PATIENCE
        while any(map(alive, members)) and time.monotonic() < deadline:
            time.sleep(0.05)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


class SideBySide:
    """As many bare loops as there are workers, each with its share of every cohort: a round is over when the last has done its own."""

    def __init__(self, options: Mapping[str, Any], rounds: int, workers: int) -> None:
        self.seconds: list[float] = []
        self.loops: list[Case] = []
        try:
            for share in range(workers):
                self.loops.append(Case("ideal", options, rounds, workers, share, workers))
        except BaseException:
            self.close()
            raise

    def round(self) -> None:
        """A round that counts."""
        began = time.perf_counter()
        self.look()
        self.seconds.append(time.perf_counter() - began)

    def look(self) -> None:
        """A round that does not; nobody asks for the memory of bare loops."""
        for loop in self.loops:
            loop.go()
        for loop in self.loops:
            loop.done()

    def close(self) -> None:
        for loop in self.loops:
            loop.close()

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def ratio(of: Case | SideBySide, to: Case | SideBySide) -> float:
    """The median over the turns of one case's seconds divided by another's."""
    return statistics.median(a / b for a, b in zip(of.seconds, to.seconds, strict=True))
