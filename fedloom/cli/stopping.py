"""Ctrl-C ends a run in order: the first asks it to stop, the second ends the process."""

from __future__ import annotations

import os
import signal
import threading
from typing import NoReturn

INTERRUPTED = 130  # the exit code that shells give to a command ended by Ctrl-C


class loading:
    """Within it nothing has begun that could be lost: Ctrl-C ends the process at once. An exception would be raised in the midst of
    somebody's import, which prints it, or takes it for a reason to do without the module."""

    def __enter__(self) -> None:
        self.before = signal.getsignal(signal.SIGINT)
        self.installed = threading.current_thread() is threading.main_thread()
        if self.installed:
            signal.signal(signal.SIGINT, self._leave)

    @staticmethod
    def _leave(*_: object) -> NoReturn:
        os.write(2, b"\n")
        os._exit(INTERRUPTED)

    def __exit__(self, *_: object) -> None:
        if self.installed:
            signal.signal(signal.SIGINT, self.before)


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
