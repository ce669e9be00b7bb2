"""FedCUAU measured: does CUAU tell skewed clients from others in one shot, and what do clusters bring (tables C1 and C2).

    python -m experiments.cuau separation    stage 1 alone: CUAU against each client's true skew, KL(labels | uniform)
    python -m experiments.cuau bases         FedAvg, FedProx, FedBABU, FedPer, each with and without clusters

Fashion-MNIST, 40 clients in four groups of ten, lda with alpha 1000, 1, 0.5 and 0.1 (`mixed:1000,1,0.5,0.1`, the paper's Table 2).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.measure import arguments, markdown, measured, spread, subset

GROUPS = ("1000", "1", "0.5", "0.1")
SETTING: dict[str, Any] = {
    "dataset": "fashion-mnist", "partition": f"mixed:{','.join(GROUPS)}", "model": "lenet", "clients": 40,
    "epochs": 1, "batch-size": 32, "lr": 0.05,
}  # fmt: skip
BASES = ("fedavg", "fedprox", "fedbabu", "fedper")
ROUNDS, FRACTION, FINE_TUNING = 20, 0.25, 5
PER_CLASS = 1500  # training samples per class in `bases`: a quarter of the data, so that 24 runs take half an hour on one slow core


def skews(folder: Path) -> NDArray[np.float64]:
    """KL(labels | uniform) of each client, in nats, from the counts that a simulation knows."""
    counts = np.array(json.loads((folder / "partition.json").read_text())["counts"], dtype=float)
    share = counts / counts.sum(axis=1, keepdims=True)
    terms = np.zeros_like(share)
    np.log(share * share.shape[1], out=terms, where=share > 0)
    skew: NDArray[np.float64] = (share * terms).sum(axis=1)
    return skew


def rank_correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Spearman's, for values without ties."""
    first, second = (np.argsort(np.argsort(values)) for values in (a, b))
    return float(np.corrcoef(first, second)[0, 1])


def separation_table(results: Path, seeds: list[int]) -> str:
    """A row a seed: mean CUAU of each group, whether it rises, its rank correlation with the skew, what travelled."""
    rows = []
    for seed in seeds:
        folder = results / f"cuau-separation-seed{seed}"
        one_client = {"strategy": "fedcuau", "rounds": 1, "fraction": 1 / SETTING["clients"], "personal-epochs": 0}
        first = measured(folder, {**SETTING, **one_client, "seed": seed})[0]
        scores = np.array(first["cuau/scores"])
        means = scores.reshape(len(GROUPS), -1).mean(axis=1)
        rises = "yes" if (np.diff(means) > 0).all() else "no"
        kilobytes = f"{first['cuau/stage1_bytes_up'] / 1000:.0f} up, {first['cuau/stage1_bytes_down'] / 1000:.0f} down"
        correlation = rank_correlation(scores, skews(folder))
        rows.append([seed, *(f"{mean:.3f}" for mean in means), rises, f"{correlation:.3f}", kilobytes])
    groups = [f"alpha {alpha}" for alpha in GROUPS]
    return markdown(["seed", *groups, "rises", "rank correlation with KL", "kB of arrays, all clients"], rows)


def base_run(results: Path, base: str, clustered: bool, seed: int) -> dict[str, Any]:
    """The last round of one run, with `personal/client_cluster` wherever the clusters are known."""
    strategy = f"{base}+cuau" if clustered else base
    options = {
        **SETTING, "dataset": subset("fashion-mnist", PER_CLASS, results), "strategy": strategy, "rounds": ROUNDS, "fraction": FRACTION, "personal-epochs": FINE_TUNING,
        "held-out": 0.2, "eval-every": ROUNDS, "save-every": ROUNDS, "seed": seed,
        **({"prox.mu": 0.001} if base == "fedprox" else {}),
    }  # fmt: skip
    return measured(results / f"cuau-{strategy}-seed{seed}", options)[-1]


def by_cluster(line: dict[str, Any], clusters: NDArray[np.int64]) -> list[float]:
    accuracies = np.array(line["personal/client_accuracy"])
    return [float(accuracies[clusters == cluster].mean()) for cluster in (1, 2)]


def bases_table(results: Path, seeds: list[int]) -> str:
    """A row a base, without and with clusters; the clusters of the clustered run also divide the clients of the other."""
    rows = []
    for base in BASES:
        pairs = [(base_run(results, base, False, seed), base_run(results, base, True, seed)) for seed in seeds]
        for name, lines in ((base, [pair[0] for pair in pairs]), (f"{base}+cuau", [pair[1] for pair in pairs])):
            clusters = [np.array(pair[1]["personal/client_cluster"]) for pair in pairs]
            initial = [line["global/accuracy"] for line in lines if "global/accuracy" in line]
            divided = np.array([by_cluster(line, own) for line, own in zip(lines, clusters, strict=True)])
            figures = [spread(line[f"personal/{key}"] for line in lines) for key in ("before", "accuracy")]
            fairness = [spread(line[f"personal/{key}"] for line in lines) for key in ("std", "worst_decile")]
            rows.append([name, spread(initial) if initial else "–", *figures, *map(spread, divided.T), *fairness])
    own = ["own model, before", "personalised", "of cluster 1", "of cluster 2"]
    return markdown(["method", "initial", *own, "deviation over clients", "worst tenth"], rows)


if __name__ == "__main__":
    given = arguments("FedCUAU: separation in one shot, and clusters on four bases.", ["separation", "bases"])
    for task in given.tasks:
        make = separation_table if task == "separation" else bases_table
        print(make(given.results, given.seeds), flush=True)
