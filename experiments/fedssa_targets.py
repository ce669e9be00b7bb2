"""FedSSA against FedAvg on the five `skew:CLIENT` targets of CIFAR-10 with two classes a client (tables A1 to A3).

    python -m experiments.fedssa_targets learn defaults table     weights of every target, on FedAvg's trajectories
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

from clients.assembly import build_model, counts_of, model_spec
from clients.training import evaluate
from experiments.every_round import every_round, every_table
from experiments.measure import arguments, markdown, spread
from experiments.trajectory import CLIENTS, ROUNDS, SETTING, trajectory
from fl_data import Augment, Samples, load, target_set
from fl_strategies.cohort import Cohort, Vector, weighted_sum
from fl_strategies.plan import make_plan
from fl_strategies.server_side import ServerSide
from fl_strategies.weighting.ssa import Ssa, SsaParams
from fl_strategies.weighting.ssa_evidence import Evidence, gather
from fl_strategies.weighting.ssa_views import client_views

SAMPLES, BANKS, STEPS = 500, 2, 160
SCORED = {5, 10, *range(15, ROUNDS + 1)}  # rounds whose models are evaluated; weights are learned in all
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "average=0.5": {"average": 0.5},
    "average=0.8": {"average": 0.8},
    "average=0.9": {"average": 0.9},
    "scale=std": {"scale": "std"},
    "scale=std average=0.8": {"scale": "std", "average": 0.8},
    "lambda_var=10": {"lambda_var": 10.0},
    "lambda_we=0.1": {"lambda_we": 0.1},
}


class Target:
    """One skewed target: the server that sees it without labels, and its labelled copy for the score."""

    def __init__(self, seed: int, client: int) -> None:
        plan = make_plan({**SETTING, "seed": seed})
        data = load(plan.config.dataset)
        x, y = target_set(f"skew:{client}", data, counts_of(plan.config, data), seed)
        spec = model_spec(plan.config, data, 0)
        cpu = torch.device("cpu")
        self.classes = data.num_classes
        self.server = ServerSide(
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


def learn(results: Path, seed: int) -> None:
    """One line of JSON a round and target: weights of every variant, accuracies in the SCORED rounds."""
    path = results / f"learned-seed{seed}.jsonl"
    done = len(path.read_text().splitlines()) if path.exists() else 0
    cheap = {"max_samples": SAMPLES, "n_view_banks": BANKS, "steps_min": STEPS}
    rules = {name: Ssa(SsaParams(**cheap, **given)) for name, given in VARIANTS.items()}
    targets = [Target(seed, client) for client in range(CLIENTS)]
    states: dict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
    if 0 < done < ROUNDS * CLIENTS:  # running averages are not on disk, so an incomplete file is begun anew
        path.unlink()
    if done >= ROUNDS * CLIENTS:
        return
    for cohort, sent in trajectory(results, seed):
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


def learn_by_defaults(results: Path, seed: int) -> None:
    """`Ssa.customised` as a run calls it, on the last round."""
    path = results / f"defaults-seed{seed}.jsonl"
    if path.exists():
        return
    cohort, sent = list(trajectory(results, seed))[-1]
    lines = []
    for client in range(CLIENTS):
        target = Target(seed, client)
        weights, _ = Ssa(SsaParams(average=0.0)).customised(cohort, sent, target.server, cohort.round)
        scores = {name: target.accuracy(cohort, sent, w) for name, w in (("fedavg", cohort.share), ("ssa", weights))}
        lines.append({"target": client, "weights": weights.tolist(), **scores})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def read(results: Path, name: str, seeds: list[int]) -> dict[int, list[dict[str, Any]]]:
    return {
        seed: [json.loads(x) for x in (results / f"{name}-seed{seed}.jsonl").read_text().splitlines()] for seed in seeds
    }


def tables(results: Path, seeds: list[int]) -> str:
    return "\n\n".join([_last_round(results, seeds), _variants(results, seeds)])


def _last_round(results: Path, seeds: list[int]) -> str:
    """Targets by rows, the last round, learned with the defaults."""
    lines = read(results, "defaults", seeds)
    rows = []
    for client in range(CLIENTS):
        own = [lines[seed][client] for seed in seeds]
        right = sum(int(np.argmax(line["weights"])) == client for line in own)
        share = float(np.mean([line["weights"][client] for line in own]))
        gain = [line["ssa"] - line["fedavg"] for line in own]
        rows.append(
            [
                f"skew:{client}",
                spread(x["fedavg"] for x in own),
                spread(x["ssa"] for x in own),
                spread(gain),
                f"{right}/{len(seeds)}",
                f"{share:.2f}",
            ]
        )
    means = {name: [np.mean([x[name] for x in lines[seed]]) for seed in seeds] for name in ("fedavg", "ssa")}
    firsts = [sum(int(np.argmax(x["weights"])) == x["target"] for x in lines[seed]) for seed in seeds]
    gains = [after - before for before, after in zip(means["fedavg"], means["ssa"], strict=True)]
    rows.append(
        [
            "mean",
            spread(means["fedavg"]),
            spread(means["ssa"]),
            spread(gains),
            " ".join(f"{n}/{CLIENTS}" for n in firsts) + " a seed",
            "",
        ]
    )
    return markdown(["target", "FedAvg", "FedSSA", "gain", "right client first", "its weight"], rows)


def _variants(results: Path, seeds: list[int]) -> str:
    """Variants by rows: the last round, and the last five."""
    lines = [line for own in read(results, "learned", seeds).values() for line in own]

    def right(name: str, rounds: range) -> str:
        chosen = [line for line in lines if line["round"] in rounds]
        return f"{100 * np.mean([int(np.argmax(line['weights'][name])) == line['target'] for line in chosen]):.0f}"

    def accuracy(name: str, rounds: range) -> str:
        return f"{100 * np.mean([line['accuracy'][name] for line in lines if line['round'] in rounds]):.1f}"

    spans = [range(ROUNDS, ROUNDS + 1), range(ROUNDS - 4, ROUNDS + 1)]
    rows = [["FedAvg", *(accuracy("fedavg", span) for span in spans), *[""] * 4]]
    early = [range(1, 6), range(6, 11), range(11, 16), range(16, 21)]
    rows += [[name, *(accuracy(name, s) for s in spans), *(right(name, s) for s in early)] for name in VARIANTS]
    heads = [f"right, rounds {span[0]}-{span[-1]}" for span in early]
    return markdown(["setting", f"accuracy, round {ROUNDS}", f"rounds {ROUNDS - 4}-{ROUNDS}", *heads], rows)


def main() -> None:
    given = arguments("FedSSA on skewed targets.", ["learn", "defaults", "table", "every-round", "every-table"])
    torch.set_num_threads(1)
    for task in given.tasks:
        if task in ("learn", "defaults"):
            for seed in given.seeds:
                (learn if task == "learn" else learn_by_defaults)(given.results, seed)
        elif task == "every-round":
            every_round(given.results, given.seeds)
        else:
            print(tables(given.results, given.seeds) if task == "table" else every_table(given.results, given.seeds))


if __name__ == "__main__":
    main()
