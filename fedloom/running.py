"""`fedloom.run` and `fedloom.load`: one run from Python, with the options of the command line and with classes where it takes names."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedloom.notebook import NotebookProgress, in_notebook
from fedloom.preset import preset
from fl_config.errors import ConfigError
from fl_models.loading import being_loaded
from fl_models.spelling import spelled
from fl_runs.progress import progress as on_terminal
from fl_runs.result import Run
from fl_strategies.round.records import Observer
from simulation.runner import run as run_options

NAMED_BY_CLASS = ("model", "task")


def run(
    *,
    callbacks: Sequence[Observer] = (),
    plugins: Sequence[str] = (),
    set: dict[str, Any] | None = None,
    stop: threading.Event | None = None,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Run `fedloom run` with these options (underscores for dashes), and return what it left.

    model, task   also a class or function of a file or module of yours, which workers then load by its text
    preset        the name of a paper's settings, as --preset; all else wins over it
    plugins       files or modules of parts of your own, as --plugin
    set           parameters of parts by dotted key, as --set: {"disco.a": 0.4}
    callbacks     told about every round; one whose `recorded` returns True ends the run there
    stop          an event that ends the run between rounds
    progress      False says nothing while the run goes on
    """
    given = flat_options(options, plugins, set)
    for callback in callbacks:
        check_callback(callback)
    with contextlib.ExitStack() as stack:
        shown: list[Observer] = []
        if progress:
            shown.append(stack.enter_context(NotebookProgress() if in_notebook() else on_terminal()))
        return run_options(given, [*shown, *callbacks], stop)


def flat_options(options: Mapping[str, Any], plugins: Sequence[str], set: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options as the command line would give them: classes by name, paths as text, plug-ins and parameters among them."""
    if place := being_loaded():
        raise ConfigError(
            f'{place} starts a run while it is being loaded for one: put the call under `if __name__ == "__main__":`.'
        )
    given = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    given |= {name: spelled(given[name]) for name in NAMED_BY_CLASS if not isinstance(given.get(name, ""), str)}
    if plugins:
        given["plugin"] = ",".join([*filter(None, [given.get("plugin", "")]), *plugins])
    named = given.pop("preset", None)
    return {**(preset(named, given.get("strategy")) if named else {}), **given, **(set or {})}


def load(folder: Path | str) -> Run:
    """A run from its folder: what `run` returned when it was made."""
    return Run.of(folder)


def check_callback(callback: Any) -> None:
    """Refuse a callback with a method that nobody calls; it is probably misspelt."""
    known = {name for name in vars(Observer) if not name.startswith("_")}
    own = {name for kind in type(callback).__mro__ if kind not in (object, Observer) for name in vars(kind)}
    odd = sorted(
        name for name in own if not name.startswith("_") and callable(getattr(callback, name)) and name not in known
    )
    if not isinstance(callback, Observer):
        raise ConfigError(f"The callback {callback!r} is no fedloom.Callback: derive its class from that.")
    if odd:
        raise ConfigError(
            f"The callback {type(callback).__name__} has a method {odd[0]!r}, which nobody calls; a callback has "
            f"{', '.join(sorted(known))}. Methods of its own begin with an underscore."
        )
