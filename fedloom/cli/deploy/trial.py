"""`fedloom deploy trial`: one run on a federation that lives on this machine for as long as the run."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedloom.cli.deploy.runs import COMPLETED, ending, send, submitted
from fedloom.cli.flags import AddCommand, add_options, given_options
from fedloom.cli.results.report import add_open_flag, show
from fedloom.cli.stopping import INTERRUPTED, loading, stoppable
from fl_config.errors import ConfigError

if TYPE_CHECKING:
    from deploy.trial import Trial
    from fl_protocol.flower.submission import Submission
    from fl_strategies.round.records import Observer

# What a trial is unless the user says otherwise; clients may need a while to start on a busy machine.
DEFAULTS = {"dataset": "digits", "clients": 3, "rounds": 3, "wait": 300.0}
PAUSE, ASKING = 0.1, 1.0  # seconds between two looks into the run folder, and between two questions to the server


def register(action: AddCommand) -> None:
    parser = action(
        "trial", command_trial, "run a server and clients with keys and TLS on this machine, for one run, and end them"
    )
    add_options(parser)
    parser.add_argument(
        "--folder",
        metavar="DIR",
        default=None,
        help="for keys, logs and what the processes keep (default: one that is deleted)",
    )
    add_open_flag(parser)


def command_trial(args: argparse.Namespace) -> int:
    values = DEFAULTS | given_options(args)
    with loading():
        from fl_protocol.code import plugins_of
        from fl_runs.plan import make_plan
        from fl_runs.progress import progress
        from simulation.report.page import write_report

    if values.get("partition") == "private":
        raise ConfigError("A trial divides a public data set among its clients, so --partition cannot be private.")
    flat = here(submitted(values))
    make_plan(values)  # everything is on this machine: what the server would refuse is told now
    out = Path(flat["out"] or flat["resume"])
    folder = Path(args.folder).resolve() if args.folder else Path(tempfile.mkdtemp(prefix="fedloom-trial-"))
    plugins = [*plugins_of(flat["plugin"]), *(_file(flat[name]) for name in ("model", "task") if _file(flat[name]))]
    try:
        code = _run(folder, flat, out, plugins, progress())
    except ConfigError as problem:
        raise ConfigError(f"{problem} The logs are in {folder}.") from None
    except KeyboardInterrupt:
        _tidy(args.folder, folder)
        raise
    _tidy(args.folder, folder)
    if code == 0:
        show(write_report([out], out / "report.html"), args.open)
    return code


def _tidy(asked_for: str | None, folder: Path) -> None:
    """Keys and logs are kept only for somebody who said where; after an error they stay, because they may say why."""
    if asked_for is None:
        shutil.rmtree(folder, ignore_errors=True)


def _run(folder: Path, flat: dict[str, Any], out: Path, plugins: list[str], shown: Any) -> int:
    from deploy.trial import Trial
    from fl_protocol.flower.submission import Submission

    began = time.monotonic()
    print(f"Starting a server and {flat['clients']} clients on this machine, each with a key of its own.", flush=True)
    with stoppable() as stop, Trial(folder, int(flat["clients"]), plugins, stop) as trial:
        with Submission(trial.control, trial.keys / "server" / "ca.crt") as server:
            run = send(server, flat)
            with shown:
                resumed = sum(1 for _ in trial_records(out, 0))
                rounds = {"rounds": flat["rounds"], "first_round": max(1, resumed)}
                shown.started({"strategy": flat["strategy"], "clients": flat["clients"], **rounds})
                watch(server, run, out, trial, shown, stop, resumed)
        if stop.is_set():
            print(f"Stopped. What is finished is in {out}.", file=sys.stderr)
            return INTERRUPTED
    print(f"Server and clients are ended; it took {time.monotonic() - began:.0f} s in all.")
    return 0


def trial_records(out: Path, seen: int) -> Any:
    from deploy.trial import new_lines
    from fl_runs.folder import METRICS

    return new_lines(out / METRICS, seen)


def watch(
    server: Submission, run: int, out: Path, trial: Trial, shown: Observer, stop: threading.Event, seen: int
) -> None:
    """Show the rounds as they come until the run ends, or is stopped; one that fails is an error with its reason."""
    asked = time.monotonic()
    ended = False
    while True:
        for record in trial_records(out, seen):
            seen += 1
            for one in record.get("dropped", []):
                shown.dropped(record["round"], one["id"], one["reason"])
            shown.recorded(dict(record))
        if ended:
            return
        trial.check_alive()
        if stop.is_set():
            server.stop(run)
            ended = True
        elif time.monotonic() >= asked + ASKING:
            asked = time.monotonic()
            outcome = server.outcome(run)
            ended = outcome.ended
            if ended and outcome.how != COMPLETED:
                raise ConfigError(ending(outcome))
        stop.wait(0 if ended else PAUSE)


def here(flat: dict[str, Any]) -> dict[str, Any]:
    """The same options with whole paths: the server and the clients work in folders of their own."""
    whole = dict(flat)
    for name in ("out", "resume", "init"):
        whole[name] = str(Path(flat[name]).expanduser().resolve()) if flat[name] else ""
    for name in ("dataset", "target", "partition"):
        form, colon, place = flat[name].partition(":")
        if colon and Path(place).expanduser().exists():
            whole[name] = f"{form}:{Path(place).expanduser().resolve()}"
    return whole


def _file(named: str) -> str:
    """The file of a model or a task that is given as FILE.py:CLASS, otherwise nothing."""
    file, _, _ = named.rpartition(":")
    return file if file.endswith(".py") else ""
