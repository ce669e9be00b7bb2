"""FedSSA by class shares and by the paper's criterion, beside FedAvg, on every kind of target (section A of the README).

    python -m experiments.target_study cifar10-drawn cifar10-pairs --seeds 0 1 2 3 4      models for seven targets per seed
    python -m experiments.target_study every-round --seeds 0 1 2 3 4                      the paper's Algorithm 1, two targets per seed
    python -m experiments.target_study fashion-odd --seeds 0 1 2                          targets that break what class shares assume
    python -m experiments.target_study table                                              what is there so far, as Markdown

In the mode `customise` the size-weighted average goes out, so that what clients train does not depend on the target: one run serves
all targets and both criteria: the cohorts of its last rounds are written down, and asked about afterwards. A run that was stopped goes on.
Results are one small JSON file per case and seed in `experiments/targets/`.

`drawn` is `shards:2`, two classes per client at random; `pairs` gives client k the classes 2k and 2k + 1; `dirichlet10` has ten clients by a
Dirichlet draw of 0.5 and `dirichlet50` fifty of which ten take part in a round. In `odd`, four clients have the first eight classes and nobody
the last two; its targets are other classes, or the same ones as other images.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import client_app
from experiments.measure import finished, markdown, records
from experiments.target_sets import HELD, Target, odd_targets, pairs_file, usual_targets
from fl_config.options import as_flat
from fl_data import Augment, load
from fl_models.spec import build_model, model_spec, outputs_of
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.base import Metrics, Weighed
from fl_strategies.weighting.ssa import Ssa, SsaParams
from server_app import open_server
from simulation import run
from simulation.engines.inline import InlineGrid
from simulation.reproduce.kept_results import origin
from simulation.runner import prepare

KEPT = Path("experiments/targets")
TRAINING = {"model": "lenet", "batch-size": 64, "lr": 0.01, "momentum": 0.9, "engine": "inline"}
CIFAR = {**TRAINING, "dataset": "cifar10", "clients": 5, "rounds": 20, "epochs": 2}
FASHION = {**TRAINING, "dataset": "fashion-mnist", "clients": 5, "rounds": 12, "epochs": 1}
CASES: dict[str, dict[str, Any]] = {
    "cifar10-drawn": {**CIFAR, "partition": "shards:2"},
    "cifar10-pairs": {**CIFAR, "partition": "pairs"},
    "cifar10-dirichlet10": {**CIFAR, "partition": "dirichlet:0.5", "clients": 10, "rounds": 12},
    "cifar10-dirichlet50": {**CIFAR, "partition": "dirichlet:0.5", "clients": 50, "fraction": 0.2},
    "fashion-drawn": {**FASHION, "partition": "shards:2"},
    "fashion-pairs": {**FASHION, "partition": "pairs"},
    "fashion-dirichlet10": {**FASHION, "partition": "dirichlet:0.5", "clients": 10},
}
ODD = "fashion-odd"
CASES[ODD] = {**FASHION, "partition": "pairs", "clients": HELD // 2}
LAST = 5  # rounds at the end in which shares are learned; views in the last one only, as they take longest
EVERY_ROUND, EVERY_TARGETS, WARM = "every-round", (0, 1), 2
SHARES, VIEWS = SsaParams(criterion="shares"), SsaParams()
ALWAYS = SsaParams(criterion="shares", shares_trust=0.0)  # also where the residual says that shares mean nothing


def options(case: str, seed: int, work: Path) -> dict[str, Any]:
    given = {**CASES[case], "seed": seed}
    if given["partition"] == "pairs":
        data = load(given["dataset"])
        given["partition"] = pairs_file(data, work / f"{case}.json", given["clients"])
    return given


class Recorder(Ssa):
    """FedAvg's weights go out; the last rounds' cohorts are written down."""

    def __init__(self, rounds: int, folder: Path) -> None:
        super().__init__(SHARES)
        self.rounds, self.folder = rounds, folder

    def customises(self, round: int, last_round: int) -> bool:
        return round > self.rounds - LAST

    def customised(self, cohort: Cohort, state: State, server: ServerResources) -> Weighed:
        self.folder.mkdir(exist_ok=True)
        arrays: dict[str, Any] = {f"sum {name}": total for name, total in cohort.sums.items()}
        arrays |= {"ids": np.array(cohort.ids), "sizes": cohort.sizes, "sent": cohort.sent}
        np.savez(self.folder / f"{cohort.round:03d}.npz", updates=np.stack(list(cohort.updates)), **arrays)
        return cohort.share, state, {}


def recorded(path: Path) -> Cohort:
    with np.load(path) as kept:
        ids, sizes = kept["ids"].tolist(), kept["sizes"]
        population = Population(dict(zip(ids, map(int, sizes), strict=True)))
        sums = {name[4:]: kept[name] for name in kept.files if name.startswith("sum ")}
        return Cohort(int(path.stem), ids, sizes, kept["updates"], population, kept["sent"], sums=sums)


def look(target: Target, cohort: Cohort, server: ServerResources, both: bool) -> dict[str, Any]:
    """What each criterion makes of a target in one round, by the code that a run uses (`Ssa.customised`)."""
    told: dict[str, Any] = {"fedavg": target.accuracy(cohort, server, cohort.share)}

    def ask(name: str, options: SsaParams) -> Metrics:
        weights, _, metrics = Ssa(options).customised(cohort, {}, server)
        first = cohort.ids[int(np.argmax(weights))]
        told.update({name: target.accuracy(cohort, server, weights), f"{name}_first": first})
        return metrics

    metrics = ask("shares", SHARES)
    told |= {name: float(metrics[f"ssa/shares_{name}"]) for name in ("residual", "noise")}
    if "ssa/loss_shares" not in metrics:
        ask("always", ALWAYS)
    if both:
        ask("views", VIEWS)
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in told.items()}


def study(case: str, seed: int, work: Path) -> None:
    kept, folder, cohorts = (
        KEPT / f"{case}-seed{seed}.json",
        work / f"{case}-seed{seed}",
        work / f"{case}-seed{seed}.cohorts",
    )
    if kept.exists():
        return
    given = options(case, seed, work)
    if not finished(folder):
        started = (folder / "config.toml").exists()
        fresh = {**given, "strategy": "fedssa-shares", "out": str(folder), "eval-every": given["rounds"]}
        plan = prepare({"resume": str(folder)} if started else fresh)
        server = open_server(plan)
        server.strategy.weave.weighting = Recorder(given["rounds"], cohorts)
        server.run(InlineGrid(client_app.app, given["clients"], as_flat(plan.config)))
    plan = prepare({**given, "strategy": "fedssa-shares"})
    data, device = load(given["dataset"]), torch.device("cpu")
    targets = odd_targets(data, seed) if case == ODD else usual_targets(plan, data)
    spec = model_spec(plan.config, data, plan.recipe.projection, num_outputs=outputs_of(data))
    side = ServerResources(lambda: build_model(spec), seed, device, augment=Augment("ssa", data))
    found = {}
    for path in sorted(cohorts.iterdir()):
        cohort, last = recorded(path), int(path.stem) == given["rounds"]
        found[str(cohort.round)] = {
            target.name: look(target, cohort, replace(side, target=target.seen), last) for target in targets
        }
    shown = {key: value for key, value in given.items() if key not in ("engine", "seed")} | CASES[case]
    keep(kept, {"case": case, "seed": seed, "setting": shown, "rounds": found})


def every_round(seed: int, work: Path) -> None:
    """The accuracy after every round on the target itself, where the learned model goes out again."""
    for client in EVERY_TARGETS:
        name = f"every-round-skew{client}-seed{seed}"
        kept, folder = KEPT / f"{name}.json", work / name
        if kept.exists():
            continue
        if not finished(folder):
            started = (folder / "config.toml").exists()
            fresh = {**options("cifar10-drawn", seed, work), "strategy": "fedssa-shares", "target": f"skew:{client}"}
            fresh |= {"ssa.mode": "every_round", "ssa.warmup_rounds": WARM, "out": str(folder)}
            run({"resume": str(folder), "engine": "inline"} if started else fresh)
        lines = [line for line in records(folder) if line["round"]]
        accuracy = [round(line["global/accuracy"], 4) for line in lines]
        first = [int(np.argmax(line["weights"])) for line in lines]
        keep(kept, {"case": EVERY_ROUND, "seed": seed, "target": client, "accuracy": accuracy, "first": first})


def keep(path: Path, result: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**result, "made": origin()}, separators=(",", ":")) + "\n")
    print(path, flush=True)


def results(case: str) -> Iterator[dict[str, Any]]:
    for path in sorted(KEPT.glob("*.json")):
        result = json.loads(path.read_text())
        if result["case"] == case:
            yield result


def table() -> str:
    """By case and kind of target: mean accuracies in the last round, and how often the right client came first."""
    rows = []
    for case in CASES:
        runs = list(results(case))
        looks = [(spec, found) for each in runs for asked in each["rounds"].values() for spec, found in asked.items()]
        last = [(spec, found) for each in runs for spec, found in list(each["rounds"].values())[-1].items()]
        for kind in dict.fromkeys("skew" if spec.startswith("skew") else spec for spec, _ in last):
            chosen, every = ([look for look in some if look[0].startswith(kind)] for some in (last, looks))
            means = [
                f"{100 * np.mean([found.get(key, found['shares']) for _, found in chosen]):.1f}"
                for key in ("fedavg", "views", "always", "shares")
            ]
            worst = [
                f"{min(100 * (found['shares'] - found['fedavg']) for _, found in some):+.1f}"
                for some in (chosen, every)
            ]
            residual = max(found["residual"] for _, found in chosen)
            rows.append([case, kind, len(runs), *means, *worst, *first(case, kind, chosen), f"{residual:.2f}"])
    heads = (
        "case;target;seeds;FedAvg;views;shares always;shares;worst gain;in any round;views first;shares first;residual"
    ).split(";")
    steady = []
    for each in results(EVERY_ROUND):
        curve = 100 * np.array(each["accuracy"][WARM:])
        fall = max(0.0, float((curve[:-1] - curve[1:]).max()))
        right = sum(place == each["target"] for place in each["first"][WARM:])
        shown = " ".join(f"{value:.0f}" for value in curve)
        steady.append([each["seed"], f"skew:{each['target']}", shown, f"{fall:.1f}", f"{right} of {len(curve)}"])
    rounds = ["seed", "target", f"accuracy after rounds {WARM + 1}, ...", "largest fall", "right client first"]
    return markdown(heads, rows) + "\n\n" + markdown(rounds, steady)


def first(case: str, kind: str, chosen: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """How often the target's own client has the largest weight; there is such a client where each has classes of its own."""
    if kind != "skew" or "dirichlet" in case:
        return ["-", "-"]
    counts = [sum(found[f"{name}_first"] == int(spec[5:]) for spec, found in chosen) for name in ("views", "shares")]
    return [f"{count} of {len(chosen)}" for count in counts]


def main() -> None:
    parser = argparse.ArgumentParser(description="FedSSA on seven targets per case and seed.")
    known = [*CASES, EVERY_ROUND, "table"]
    parser.add_argument("tasks", nargs="+", choices=known, metavar="TASK", help=f"what to do: {', '.join(known)}")
    parser.add_argument("--work", type=Path, default=Path("runs/experiments"), help="folder of the run folders")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for task in given.tasks:
        if task == "table":
            print(table())
            continue
        for seed in given.seeds:
            if task == EVERY_ROUND:
                every_round(seed, given.work)
            else:
                study(task, seed, given.work)


if __name__ == "__main__":
    main()
