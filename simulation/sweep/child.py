"""A process of a sweep: it makes the runs that it is given, one after the other, and ends when its parent does.

Orders come as lines of JSON on its standard input: {"name", "values"} is a run, {"stop": true} ends the one that is going on between two
rounds. What happens goes back as lines of JSON. The end of the input means that there is nothing more to do, or that the parent is gone.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import queue
import signal
import sys
import threading
import traceback
from typing import Any, TextIO

from fl_config.errors import ConfigError
from fl_runs.progress import headline
from fl_strategies.round.records import Observer, Record

# What the process executes first, before any package is found: with a user's `simulation.py` in the folder, ours must be.
BOOT = (
    "import json, sys; first = json.loads(sys.stdin.buffer.readline()); sys.path[:] = first['path']; "
    "from simulation.sweep.child import main; main(first['parent'])"
)
PARENT_DIED = 1  # PR_SET_PDEATHSIG of Linux


class Told(Observer):
    """Passes on what the parent shows."""

    def __init__(self, channel: TextIO) -> None:
        self.channel = channel
        self.writing = threading.Lock()

    def say(self, what: str, content: Any) -> None:
        with self.writing:
            self.channel.write(json.dumps([what, content]) + "\n")
            self.channel.flush()

    def started(self, info: Record) -> None:
        self.say("started", {"rounds": info["rounds"], "first_round": info["first_round"]})

    def recorded(self, record: Record) -> None:
        self.say("recorded", {"round": record["round"], "figures": headline(record)})

    def dropped(self, round: int, client: Any, reason: str) -> None:
        self.say("said", f"round {round}: client {client} is left out: {reason}")


class Orders(threading.Thread):
    """Reads the parent's orders; where the parent is gone in the middle of a run, this process goes too, at once."""

    def __init__(self) -> None:
        super().__init__(name="fedloom-orders", daemon=True)
        self.runs: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.stop = threading.Event()
        self.busy = False

    def run(self) -> None:
        for line in sys.stdin.buffer:
            order = json.loads(line)
            if order.get("stop"):
                self.stop.set()
            else:
                self.runs.put(order)
        if self.busy:
            os._exit(1)
        self.runs.put(None)


class Forwarded(logging.Handler):
    """What a tracker complains of, for the parent's screen."""

    def __init__(self, told: Told) -> None:
        super().__init__()
        self.told = told

    def emit(self, record: logging.LogRecord) -> None:
        self.told.say("said", record.getMessage())


def main(parent: int) -> None:
    end_with(parent)
    # Whatever a library prints must not get in between our lines.
    told = Told(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(2, 1)
    logging.getLogger("fedloom").setLevel(logging.INFO)
    logging.getLogger("fedloom.tracking").addHandler(Forwarded(told))
    orders = Orders()
    orders.start()
    while (order := orders.runs.get()) is not None:
        orders.busy = True
        told.say("ended", made(order["values"], told, orders.stop))
        orders.busy = False


def made(values: dict[str, Any], told: Told, stop: threading.Event) -> dict[str, Any]:
    """Make one run; says whether it is finished, or what went wrong."""
    from simulation.runner import run

    try:
        return {"finished": run(values, [told], stop).finished}
    except (ConfigError, OSError) as problem:
        return {"finished": False, "problem": str(problem)}
    except Exception as problem:
        traceback.print_exc()
        return {"finished": False, "problem": f"{type(problem).__name__}: {problem}", "unexpected": True}


def end_with(parent: int) -> None:
    """See to it that no kill of the parent leaves this process behind; where the system cannot help, the end of the input does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DIED, signal.SIGKILL)
        if os.getppid() != parent:  # it was gone before
            os._exit(1)
