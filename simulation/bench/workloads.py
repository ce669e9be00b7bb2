"""What the bench measures: each workload is the options of one run; the one without options has no work to do at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from fl_config.errors import ConfigError, nearest

IMAGES = {"strategy": "fedavg", "dataset": "fashion-mnist", "partition": "iid", "epochs": 1, "batch-size": 50}
MANY = {**IMAGES, "model": "mlp:200,200", "clients": 500, "fraction": 0.02}
MILLION = {**MANY, "partition": "drawn:60:0.3", "clients": 1_000_000, "fraction": 1e-4}
WORKLOADS: dict[str, dict[str, Any]] = {
    "lenet-100x10": {**IMAGES, "model": "lenet", "clients": 100, "fraction": 0.1},
    "mlp-500x10": MANY,
    "cnn64-100x10": {**IMAGES, "model": "cnn64", "clients": 100, "fraction": 0.1},
    "state-500x10": {**MANY, "strategy": "fedssg"},
    "mlp-1000000x100": MILLION,
    "idle-1000x100": {},  # the apps of simulation.bench.idle
}


FOR_FLOWER = 10_000  # clients that Flower's engine registers in a bearable time


def kinds_of(options: Mapping[str, Any], peer: bool) -> list[str]:
    """Who can do this work, in the order of the turns; `peer` says whether pfl-research is there, which has federated averaging."""
    kinds = ["ideal", "parallel", "ray"] if options else ["ray"]
    if options.get("clients", 0) <= FOR_FLOWER:
        kinds.append("flower")
    return [*kinds, "pfl"] if peer and options.get("strategy") == "fedavg" else kinds


def check_request(workloads: Sequence[str], rounds: int) -> None:
    for name in workloads:
        if name not in WORKLOADS:
            known = ", ".join(WORKLOADS)
            raise ConfigError(f"There is no workload {name!r}{nearest(name, WORKLOADS)} There are {known}.")
    if not workloads or rounds < 1:
        raise ConfigError("The bench needs at least one workload and one round.")


def peer_is_there() -> bool:
    """Whether pfl-research is installed, which is found out without loading anything."""
    return find_spec("pfl") is not None
