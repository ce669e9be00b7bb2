"""One measured case of the bench, in a process of its own: `python -m simulation.bench.case '{"how": ..., ...}'`.

It does one round whenever a line comes in, and prints one line of JSON when the round has ended; the bench times what lies between
the two (`case_process.py`). The process ends with its input.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from simulation.engines.ray_start import begin_early


def announce(round: int) -> None:
    """Round `round` has ended; returns when the next one is wanted."""
    print(json.dumps({"round": round}), flush=True)
    if not sys.stdin.readline():
        raise SystemExit  # nobody is there any more


def announcer() -> Any:
    from fl_strategies.round.records import Observer, Record

    class Announcer(Observer):
        def recorded(self, record: Record) -> None:
            if record["round"]:
                announce(record["round"])

    return Announcer()


def run_case(how: str, options: dict[str, Any], rounds: int, workers: int, share: int = 0, shares: int = 1) -> None:
    """`how` is ideal, ray, flower or pfl; without options it is the apps that have no work to do. The ideal does one of its shares."""
    with tempfile.TemporaryDirectory(prefix="fedloom-bench-") as folder:
        never = {"eval-every": rounds + 1, "save-every": rounds + 1}
        given = {**options, **never, "rounds": rounds, "workers": workers, "out": str(Path(folder) / "run")}
        if how == "ideal":
            from fl_runs.plan import make_plan
            from simulation.bench.loop import plain_rounds

            for round, _ in enumerate(plain_rounds(make_plan(given).config, share, shares), start=1):
                announce(round)
        elif how == "pfl":
            from fl_runs.plan import make_plan
            from simulation.bench.peer import peer_rounds

            peer_rounds(make_plan(given).config, workers, announce)
        elif options:
            begin_early({**given, "engine": how})  # as the command does
            from simulation.runner import run

            run({**given, "engine": how}, [announcer()])
        elif how == "ray":
            _idle_ray(rounds, workers)
        else:
            _idle_flower(rounds, workers)


def _idle_ray(rounds: int, workers: int) -> None:
    from flwr.app import Context, RecordDict

    from simulation.bench.idle import CLIENTS, idle_server
    from simulation.engines.ray_grid import RayGrid

    with RayGrid("simulation.bench.idle:app", CLIENTS, {}, workers=workers) as grid:
        idle_server(rounds, announce)(grid, Context(1, 1, {}, RecordDict(), {}))


def _idle_flower(rounds: int, workers: int) -> None:
    import logging
    import os

    os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
    from flwr.simulation import run_simulation

    from simulation.bench.idle import CLIENTS, app, idle_server

    logging.getLogger("flwr").setLevel(logging.ERROR)
    quiet: Any = {
        "address": "local",
        "num_cpus": workers,
        "include_dashboard": False,
        "logging_level": "error",
        "log_to_driver": False,
    }
    backend: Any = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": quiet}
    run_simulation(idle_server(rounds, announce), app, CLIENTS, backend_config=backend)


if __name__ == "__main__":
    sys.stdin.readline()  # the first round is wanted at once
    run_case(**json.loads(sys.argv[1]))
