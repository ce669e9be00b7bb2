"""FedAvg's trajectory on CIFAR-10 with two classes a client, kept with every round's local models.

    python -m experiments.trajectory drawn pairs

Which two classes meet in a client decides whether FedSSA can tell clients apart, so there are two splits: `drawn` is
`shards:2`, pairs at random by seed; `pairs` gives client k the classes 2k and 2k + 1, whatever the seed.

FedSSA's `customise` and `post_hoc` send out the plain average, so what clients train does not depend on the target:
one FedAvg run a seed serves all five targets and every setting of the learning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

import client_app
from experiments.measure import arguments, finished
from fl_config.options import as_flat
from fl_config.params import Params
from fl_data import load
from fl_protocol.types import Vector
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Metrics, Weights
from fl_strategies.weighting.size import Size
from server_app import open_server
from simulation.engines.inline import InlineGrid
from simulation.runner import prepare

CLIENTS, ROUNDS = 5, 20
SPLITS = ("drawn", "pairs")
SETTING = {
    "dataset": "cifar10",
    "model": "lenet",
    "clients": CLIENTS,
    "rounds": ROUNDS,
    "epochs": 2,
    "batch-size": 64,
    "lr": 0.01,
    "momentum": 0.9,
    "engine": "inline",
}


def setting(results: Path, split: str, seed: int, per_class: int = 5000) -> dict[str, Any]:
    """The options of a run on this split; `pairs` may leave training samples out."""
    if split == "drawn":
        return {**SETTING, "partition": "shards:2", "seed": seed}
    path = results / f"pairs-{per_class}.json"
    if not path.exists():
        labels = np.asarray(load("cifar10").y_train)
        own = [np.flatnonzero(labels == label)[:per_class].tolist() for label in range(2 * CLIENTS)]
        path.write_text(json.dumps([own[2 * client] + own[2 * client + 1] for client in range(CLIENTS)]))
    return {**SETTING, "partition": f"file:{path}", "seed": seed}


class Recording(Size):
    """FedAvg's weights; the cohort is filed before they are used."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Params())
        self.folder = folder

    def weights(self, cohort: Cohort, sent: Vector, server: ServerResources, round: int) -> tuple[Weights, Metrics]:
        arrays = {"sent": sent, "updates": cohort.updates, "sizes": cohort.sizes}
        save_file({name: np.ascontiguousarray(value) for name, value in arrays.items()}, self._file(self.folder, round))
        return super().weights(cohort, sent, server, round)

    @staticmethod
    def _file(folder: Path, round: int) -> Path:
        return folder / f"round-{round:02d}.safetensors"

    @classmethod
    def read(cls, folder: Path, round: int) -> tuple[Cohort, Vector]:
        arrays = load_file(cls._file(folder, round))
        sizes = arrays["sizes"]
        ids = list(range(len(sizes)))
        population = Population({client: int(size) for client, size in zip(ids, sizes, strict=True)})
        return Cohort(round, list(ids), sizes, arrays["updates"], population), arrays["sent"]


def trajectory(results: Path, split: str, seed: int) -> Iterator[tuple[Cohort, Vector]]:
    """Every round's cohort and the model it started from; trained first if that has not been done."""
    folder, cohorts = results / f"trajectory-{split}-seed{seed}", results / f"cohorts-{split}-seed{seed}"
    if not finished(folder):
        cohorts.mkdir(exist_ok=True)
        started = (folder / "config.toml").exists()
        fresh = {**setting(results, split, seed), "strategy": "fedavg", "out": str(folder), "eval-every": 5}
        plan = prepare({"resume": str(folder)} if started else fresh)
        server = open_server(plan)
        server.strategy.weave.weighting = Recording(cohorts)
        server.run(InlineGrid(client_app.app, CLIENTS, as_flat(plan.config)))
    for round in range(1, ROUNDS + 1):
        yield Recording.read(cohorts, round)


if __name__ == "__main__":
    given = arguments("Train FedAvg's trajectories.", SPLITS)
    for split in given.tasks:
        for seed in given.seeds:
            print(split, seed, sum(1 for _ in trajectory(given.results, split, seed)), flush=True)
