"""An interrupt (Ctrl-C) that is never lost, wherever it arrives.

Python runs a signal's handler between two instructions of whatever the main thread is doing. While it calls into a library, that
may be a destructor or a callback of compiled code, where an exception is printed or dropped, and the program goes on as if nothing
had been asked of it. What the handler raised is therefore noted, and raised again behind the call where it got lost.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType


class NoInterruptLost:
    """Raises at the end of the `with` block what the handler of SIGINT raised inside it, unless that comes out by itself.

    The handler is whichever is installed: Python's own, or another's. One that raises nothing (it may set an event) is left alone,
    as are threads other than the main one, in which no handler ever runs.
    """

    def __init__(self) -> None:
        self.raised: BaseException | None = None

    def __enter__(self) -> None:
        before = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
        self.before = before if callable(before) else None  # neither ignored nor left to the system
        if self.before:
            signal.signal(signal.SIGINT, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        assert self.before
        try:
            self.before(number, frame)
        except BaseException as raised:
            self.raised = raised
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.before:
            signal.signal(signal.SIGINT, self.before)
        if self.raised is not None and not isinstance(error, type(self.raised)):
            raise self.raised
