"""FedSSA against FedAvg on the five `skew:CLIENT` targets of CIFAR-10 with two classes a client (tables A1 to A4).

    python -m experiments.fedssa_targets learn defaults table     weights of every target, on FedAvg's trajectories
                                                                  (--split drawn or pairs, see trajectory.py)
    python -m experiments.fedssa_targets check                    an ordinary run of two rounds gives the same numbers
    python -m experiments.fedssa_targets every-round every-table  the paper's Algorithm 1 under settings meant to steady it

`learn` asks every round's local models about SAMPLES target samples in BANKS view pairs and learns under every setting
of VARIANTS from the same logits, with as many steps as the defaults take; `defaults` uses the defaults as they are, on
the last round. Both go through `Ssa.weigh`, as a run does; only the logits are shared.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.every_round import every_round, every_table
from experiments.fedssa_tables import tables
from experiments.measure import arguments, markdown, measured
from experiments.trajectory import CLIENTS, ROUNDS, SPLITS, setting, trajectory
from fl_data import Augment, Samples, load, target_set
from fl_data.division import counts_of
from fl_models.spec import build_model, model_spec
from fl_protocol.types import Vector
from fl_runs.plan import make_plan
from fl_strategies.round.cohort import Cohort, weighted_sum
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.ssa import Ssa, SsaParams
from fl_strategies.weighting.ssa.evidence import Evidence, gather
from fl_strategies.weighting.ssa.views import client_views
from fl_tasks.classification import evaluate

SAMPLES, BANKS, STEPS = 300, 2, 160
SCORED = {10, *range(16, ROUNDS + 1)}  # rounds whose models are evaluated; weights are learned in all
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "average=0.5": {"average": 0.5},
    "average=0.8": {"average": 0.8},
    "scale=std": {"scale": "std"},
    "lambda_var=10": {"lambda_var": 10.0},
    "lambda_var=10 average=0.8": {"lambda_var": 10.0, "average": 0.8},
}


class Target:
    """One skewed target: the server that sees it without labels, and its labelled copy for the score."""

    def __init__(self, results: Path, split: str, seed: int, client: int) -> None:
        plan = make_plan(setting(results, split, seed))
        data = load(plan.config.dataset)
        x, y = target_set(f"skew:{client}", data, counts_of(plan.config, data), seed)
        spec = model_spec(plan.config, data, 0)
        cpu = torch.device("cpu")
        self.classes = data.num_classes
        self.server = ServerResources(
            lambda: build_model(spec), seed, cpu, Samples(x, None, data, cpu), Augment("ssa", data)
        )
        self.labelled = Samples(x, y, data, cpu)

    def accuracy(self, cohort: Cohort, sent: Vector, weights: Any) -> float:
        vector = (sent + weighted_sum(np.asarray(weights), cohort.updates)).astype(np.float32)
        return evaluate(self.server.model(vector).model, self.labelled, self.classes).accuracy


def scaled(evidence: Evidence, scale: str) -> Evidence:
    """The same logits, divided as `gather` would have done."""
    if scale == "none":
        return evidence
    divisor = evidence.divisor.numpy()[:, None, None]
    return replace(evidence, scale=scale, banks=[bank / divisor for bank in evidence.banks])


def learn(results: Path, split: str, seed: int) -> None:
    """One line of JSON a round and target: weights of every variant, accuracies in the SCORED rounds."""
    path = results / f"learned-{split}-seed{seed}.jsonl"
    done = len(path.read_text().splitlines()) if path.exists() else 0
    cheap = {"max_samples": SAMPLES, "n_view_banks": BANKS, "steps_min": STEPS}
    rules = {name: Ssa(SsaParams(**cheap, **given)) for name, given in VARIANTS.items()}
    targets = [Target(results, split, seed, client) for client in range(CLIENTS)]
    states: dict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
    if 0 < done < ROUNDS * CLIENTS:  # running averages are not on disk, so an incomplete file is begun anew
        path.unlink()
    if done >= ROUNDS * CLIENTS:
        return
    for cohort, sent in trajectory(results, split, seed):
        for client, target in enumerate(targets):
            evidence = gather(client_views("FedSSA", cohort, sent, target.server, SAMPLES), rules["default"].params)
            assert evidence is not None
            line: dict[str, Any] = {"round": cohort.round, "target": client, **evidence.metrics(), "weights": {}}
            for name, rule in rules.items():
                server = replace(target.server, state=states[name, client])
                weights, _ = rule.weigh(scaled(evidence, rule.params.scale), cohort, server, cohort.round)
                line["weights"][name] = weights.tolist()
            if cohort.round in SCORED:
                line["accuracy"] = {
                    name: target.accuracy(cohort, sent, weights)
                    for name, weights in {"fedavg": cohort.share, **line["weights"]}.items()
                }
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")


def learn_by_defaults(results: Path, split: str, seed: int) -> None:
    """`Ssa.customised` as a run calls it, on the last round."""
    path = results / f"defaults-{split}-seed{seed}.jsonl"
    if path.exists():
        return
    cohort, sent = list(trajectory(results, split, seed))[-1]
    lines = []
    for client in range(CLIENTS):
        target = Target(results, split, seed, client)
        weights, _ = Ssa(SsaParams(average=0.0)).customised(cohort, sent, target.server, cohort.round)
        scores = {name: target.accuracy(cohort, sent, w) for name, w in (("fedavg", cohort.share), ("ssa", weights))}
        lines.append({"target": client, "weights": weights.tolist(), **scores})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def check(results: Path, split: str, seed: int, client: int = 0, rounds: int = 2) -> str:
    """`fedloom run --strategy fedssa` beside the same rounds learned on the recorded cohorts."""
    options = {**setting(results, split, seed), "strategy": "fedssa", "target": f"skew:{client}", "rounds": rounds}
    run = measured(results / f"check-{split}-skew{client}-seed{seed}", {**options, "ssa.average": 0.0})
    target, rows = Target(results, split, seed, client), []
    for (cohort, sent), line in zip(trajectory(results, split, seed), run[1:], strict=False):
        weights, _ = Ssa(SsaParams(average=0.0)).customised(cohort, sent, target.server, cohort.round)
        accuracies = (target.accuracy(cohort, sent, weights), target.accuracy(cohort, sent, cohort.share))
        recorded = (line["global/accuracy"], line["outgoing/accuracy"])
        gap = float(np.abs(weights - np.array(line["ssa/weights"])).max())
        rows.append(
            [cohort.round, f"{gap:.1e}", *(f"{x:.4f} {y:.4f}" for x, y in zip(accuracies, recorded, strict=True))]
        )
    heads = ["round", "largest difference of a weight", "FedSSA here and in the run", "FedAvg here and in the run"]
    return markdown(heads, rows)


TASKS = ["learn", "defaults", "check", "table", "every-round", "every-table"]


def main() -> None:
    given = arguments("FedSSA on skewed targets.", TASKS, SPLITS)
    torch.set_num_threads(1)
    results, split, seeds = given.results, given.split, given.seeds
    for task in given.tasks:
        if task in ("learn", "defaults"):
            for seed in seeds:
                (learn if task == "learn" else learn_by_defaults)(results, split, seed)
        elif task == "check":
            print(check(results, split, seeds[0]))
        elif task == "every-round":
            every_round(results, seeds)
        else:
            print(tables(results, split, seeds, list(VARIANTS)) if task == "table" else every_table(results, seeds))


if __name__ == "__main__":
    main()
