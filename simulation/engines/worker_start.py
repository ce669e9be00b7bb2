"""How a worker process begins: with our packages from where the driver has them, whatever lies in its current folder.

Ray puts the driver's current folder first on a worker's path, where a user's `clients.py` would be taken for our package. And it
imports the module of an actor's class to unpickle it, before anything of ours could correct that. So the actor is a class that
is defined inside a function: it travels by value, needs nothing but Python, and imports the worker when our packages are settled.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fl_config.our_packages import OUR_NAMES


def homes(names: tuple[str, ...] = OUR_NAMES) -> dict[str, str]:
    """The folder in which this process finds each of these modules."""
    found = {}
    for name in names:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            place = Path(spec.origin)
            found[name] = str(place.parents[1] if spec.submodule_search_locations else place.parent)
    return found


def settler() -> Callable[[dict[str, str], str], None]:
    """What a process calls before it imports anything of ours, to have our packages from these folders, and paths that a user gave from
    the folder where they were given, if there is such a folder here. It travels by value."""

    def settle(found_in: dict[str, str], current: str) -> None:
        import os
        import sys
        from importlib.machinery import PathFinder

        class WhereTheDriverHasThem:
            @staticmethod
            def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
                return PathFinder.find_spec(name, [found_in[name]]) if name in found_in else None

        if all(getattr(finder, "__name__", "") != WhereTheDriverHasThem.__name__ for finder in sys.meta_path):
            sys.meta_path.insert(0, WhereTheDriverHasThem)
        if os.path.isdir(current):  # a cluster's processes are where `ray start` was called
            os.chdir(current)

    return settle


def actor_class() -> type[Any]:
    """The class of the actors; its methods are those of `simulation.engines.worker.Worker`."""
    settle = settler()

    class Worker:
        def __init__(self, found_in: dict[str, str], current: str, *given: Any) -> None:
            settle(found_in, current)
            from simulation.engines.worker import Worker as RealWorker

            self.worker = RealWorker(*given)

        def prepare(self, *given: Any) -> Any:
            return self.worker.prepare(*given)

        def answer(self, *given: Any) -> Any:
            return self.worker.answer(*given)

    return Worker
