"""Ctrl-C ends a run in order: the first asks it to stop, the second ends the process."""

from __future__ import annotations

import os
import signal
import threading

INTERRUPTED = 130  # the exit code that shells give to a command ended by Ctrl-C


class stoppable:
    """Within it, Ctrl-C sets an event that asks the run to stop when it can; a second Ctrl-C ends the process."""

    def __enter__(self) -> threading.Event:
        self.stop = threading.Event()
        self.before = signal.getsignal(signal.SIGINT)
        self.installed = threading.current_thread() is threading.main_thread()
        if self.installed:
            signal.signal(signal.SIGINT, self._handle)
        return self.stop

    def _handle(self, *_: object) -> None:
        if self.stop.is_set():
            os._exit(INTERRUPTED)
        self.stop.set()
        # Not print(), which fails where the signal has interrupted another print().
        os.write(2, b"\nStopping; the rounds that are finished are kept. Ctrl-C again ends at once.\n")

    def __exit__(self, *_: object) -> None:
        if self.installed:
            signal.signal(signal.SIGINT, self.before)
