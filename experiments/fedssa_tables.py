"""Tables A1 and A2: what `fedssa_targets.py` left, target by target and setting by setting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.measure import markdown, spread
from experiments.trajectory import CLIENTS, ROUNDS


def read(results: Path, name: str, seeds: list[int]) -> dict[int, list[dict[str, Any]]]:
    return {
        seed: [json.loads(x) for x in (results / f"{name}-seed{seed}.jsonl").read_text().splitlines()] for seed in seeds
    }


def tables(results: Path, split: str, seeds: list[int], variants: list[str]) -> str:
    return "\n\n".join([_last_round(results, split, seeds), _variants(results, split, seeds, variants)])


def _last_round(results: Path, split: str, seeds: list[int]) -> str:
    """Targets by rows, the last round, learned with the defaults."""
    lines = read(results, f"defaults-{split}", seeds)
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


def _variants(results: Path, split: str, seeds: list[int], variants: list[str]) -> str:
    """Variants by rows: the last round, and the last five."""
    lines = [line for own in read(results, f"learned-{split}", seeds).values() for line in own]

    def right(name: str, rounds: range) -> str:
        chosen = [line for line in lines if line["round"] in rounds]
        return f"{100 * np.mean([int(np.argmax(line['weights'][name])) == line['target'] for line in chosen]):.0f}"

    def accuracy(name: str, rounds: range) -> str:
        return f"{100 * np.mean([line['accuracy'][name] for line in lines if line['round'] in rounds]):.1f}"

    spans = [range(ROUNDS, ROUNDS + 1), range(ROUNDS - 4, ROUNDS + 1)]
    rows = [["FedAvg", *(accuracy("fedavg", span) for span in spans), *[""] * 4]]
    early = [range(1, 6), range(6, 11), range(11, 16), range(16, 21)]
    rows += [[name, *(accuracy(name, s) for s in spans), *(right(name, s) for s in early)] for name in variants]
    heads = [f"right, rounds {span[0]}-{span[-1]}" for span in early]
    return markdown(["setting", f"accuracy, round {ROUNDS}", f"rounds {ROUNDS - 4}-{ROUNDS}", *heads], rows)
