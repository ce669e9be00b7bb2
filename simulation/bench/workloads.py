"""What the bench measures: each workload is the options of one run; the one without options has no work to do at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fl_config.errors import ConfigError, nearest

IMAGES = {"strategy": "fedavg", "dataset": "fashion-mnist", "partition": "iid", "epochs": 1, "batch-size": 50}
MANY = {**IMAGES, "model": "mlp:200,200", "clients": 500, "fraction": 0.02}
WORKLOADS: dict[str, dict[str, Any]] = {
    "lenet-100x10": {**IMAGES, "model": "lenet", "clients": 100, "fraction": 0.1},
    "mlp-500x10": MANY,
    "cnn64-100x10": {**IMAGES, "model": "cnn64", "clients": 100, "fraction": 0.1},
    "state-500x10": {**MANY, "strategy": "fedssg"},
    "idle-1000x100": {},  # the apps of simulation.bench.idle
}


def check_request(workloads: Sequence[str], rounds: int) -> None:
    for name in workloads:
        if name not in WORKLOADS:
            known = ", ".join(WORKLOADS)
            raise ConfigError(f"There is no workload {name!r}{nearest(name, WORKLOADS)} There are {known}.")
    if not workloads or rounds < 1:
        raise ConfigError("The bench needs at least one workload and one round.")
