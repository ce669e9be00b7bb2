"""FedSSA's `every_round` (the paper's Algorithm 1) from a warmed-up model, under settings meant to steady it (table A4).

Every run starts from FedAvg's model after round WARM of a trajectory (so `warmup_rounds` is paid once for all of them) and
goes on with PER_CLASS training samples per class, to keep ten runs within minutes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from experiments.measure import markdown, measured
from experiments.trajectory import setting, trajectory
from fl_data import load
from fl_models.flat import shapes, vector_to_state
from fl_models.spec import build_model, model_spec
from fl_runs.plan import make_plan

WARM, ROUNDS, PER_CLASS = 15, 10, 1500
SPLIT, TARGETS = "pairs", (0, 1)
CHEAP = {"ssa.max_samples": 300, "ssa.n_view_banks": 2, "ssa.steps_min": 160}
STEADY: dict[str, dict[str, Any]] = {
    "paper": {},
    "average=0.8": {"ssa.average": 0.8},
    "lambda_we=0.1": {"ssa.lambda_we": 0.1},
    "lambda_we=1": {"ssa.lambda_we": 1.0},
    "lambda_we=10": {"ssa.lambda_we": 10.0},
    "warm_start": {"ssa.warm_start": True},
    "average=0.95": {"ssa.average": 0.95},
    "lr=0.01": {"ssa.lr": 0.01},
    "warm_start, 2000 samples": {
        "ssa.warm_start": True,
        "ssa.max_samples": 2000,
        "ssa.n_view_banks": 4,
        "ssa.steps_min": 0,
        "rounds": 6,
    },
}


def warm_model(results: Path, seed: int) -> str:
    """FedAvg's model after round WARM, as a file that `--init` takes."""
    path = results / f"warm-seed{seed}.safetensors"
    if not path.exists():
        plan = make_plan(setting(results, SPLIT, seed))
        model = build_model(model_spec(plan.config, load("cifar10"), 0))
        sent = list(trajectory(results, SPLIT, seed))[WARM][1]
        save_file(vector_to_state(sent, shapes(model)), path)
    return str(path)


def every_round(results: Path, seeds: list[int]) -> dict[tuple[str, int, int], list[dict[str, Any]]]:
    """The records of every (setting, target, seed)."""
    found = {}
    for name, given in STEADY.items():
        for client in TARGETS:
            for seed in seeds:
                options = {
                    **setting(results, SPLIT, seed, PER_CLASS), "strategy": "fedssa", "rounds": ROUNDS,
                    "target": f"skew:{client}", "init": warm_model(results, seed), "ssa.mode": "every_round",
                    **CHEAP, **given,
                }  # fmt: skip
                folder = results / f"every-{name.replace(' ', '-')}-skew{client}-seed{seed}"
                found[name, client, seed] = measured(folder, options)
    return found


def every_table(results: Path, seeds: list[int]) -> str:
    """One row per run: accuracy on the target round by round."""
    rows = []
    for (name, client, seed), lines in every_round(results, seeds).items():
        curve = [100 * line["global/accuracy"] for line in lines]
        right = np.mean([int(np.argmax(line["weights"])) == client for line in lines if line["round"]])
        shown = " ".join(f"{value:.0f}" for value in curve)
        rows.append([name, f"skew:{client}", seed, shown, f"{100 * right:.0f}"])
    return markdown(
        ["setting", "target", "seed", "accuracy, from the warm model on", "right client first, % of rounds"], rows
    )
