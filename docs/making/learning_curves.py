"""Learning curves for the cards: small real runs on digits, kept as JSON in `docs/curves`, and the picture of one beside FedAvg's.

python -m docs.making.learning_curves            make the runs that are missing
python -m docs.making.learning_curves feddyn     make these anew
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fedloom

FOLDER = Path(__file__).resolve().parents[1] / "curves"
SETTING: dict[str, Any] = {
    "dataset": "digits",
    "partition": "dirichlet:0.2",
    "model": "mlp:32",
    "clients": 10,
    "fraction": 0.4,
    "rounds": 30,
    "epochs": 2,
    "batch-size": 16,
    "lr": 0.05,
    "weight-decay": 0.001,
    "clip": 10.0,
    "held-out": 0.2,
}
SEEDS = (1, 2, 3)
GLOBAL, PERSONAL = "global/accuracy", "personal/accuracy"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 300, 48, 12, 30, 40
COLOURS = {"own": "#0b6e99", "fedavg": "#8a8a8a"}


def measure(expression: str) -> dict[str, Any]:
    """The curves of a strategy, mean and range over the seeds, and what one client's round costs."""
    options = {key.replace("-", "_"): value for key, value in SETTING.items()}
    with tempfile.TemporaryDirectory() as place:
        runs = [
            fedloom.run(
                strategy=expression,
                seed=seed,
                engine="inline",
                device="cpu",
                out=f"{place}/{seed}",
                progress=False,
                **options,
            )
            for seed in SEEDS
        ]
        states = [file.stat().st_size for file in Path(place).glob("*/state/*/*.safetensors")]
    last = [run.metrics[-1] for run in runs]
    curves = {name: [[record.get(name) for record in run.metrics] for run in runs] for name in (GLOBAL, PERSONAL)}
    return {
        "strategy": expression,
        "setting": SETTING,
        "seeds": list(SEEDS),
        "curves": {name: _summary(values) for name, values in curves.items() if values[0][-1] is not None},
        "bytes_up": round(float(np.mean([line["bytes_up"] / len(line["cohort"]) for line in last]))),
        "bytes_down": round(float(np.mean([line["bytes_down"] / len(line["cohort"]) for line in last]))),
        "bytes_remembered": max(states, default=0),
    }


def _summary(values: Sequence[Sequence[float | None]]) -> dict[str, list[float | None]]:
    """Round by round over the seeds; None where nothing was evaluated."""
    rounds = [[value for value in column if value is not None] for column in zip(*values, strict=True)]
    return {
        "mean": [round(sum(each) / len(each), 4) if each else None for each in rounds],
        "low": [round(min(each), 4) if each else None for each in rounds],
        "high": [round(max(each), 4) if each else None for each in rounds],
    }


def read(name: str) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return kept


def shown_metric(own: dict[str, Any]) -> str:
    """What is drawn: the accuracy of the global model, or of the clients' own models where there is none."""
    return GLOBAL if GLOBAL in own["curves"] else PERSONAL


def picture(title: str, own: dict[str, Any], fedavg: dict[str, Any]) -> str:
    """An SVG of both curves, each with the range over its seeds."""
    metric = shown_metric(own)
    lines = {"fedavg": fedavg["curves"][metric]}
    if own["strategy"] != fedavg["strategy"]:
        lines["own"] = own["curves"][metric]
    rounds = len(lines["fedavg"]["mean"]) - 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{title} and FedAvg, accuracy by round</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        y = _y(share)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end" fill="#555">{share:.0%}</text>')
    for number in range(0, rounds + 1, 5):
        parts.append(
            f'<text x="{_x(number, rounds)}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle" fill="#555">{number}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle" fill="#555">round</text>'
    )
    for place, (name, line) in enumerate(lines.items()):
        colour, shown = COLOURS[name], title if name == "own" else "FedAvg"
        band = [*_points(line["low"], rounds), *reversed(_points(line["high"], rounds))]
        parts.append(f'<polygon points="{" ".join(band)}" fill="{colour}" fill-opacity="0.15"/>')
        mean = " ".join(_points(line["mean"], rounds))
        parts.append(f'<polyline points="{mean}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x = LEFT + place * 160
        parts.append(f'<line x1="{x}" x2="{x + 22}" y1="14" y2="14" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 28}" y="18" fill="#222">{shown}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _points(values: Sequence[float | None], rounds: int) -> list[str]:
    return [f"{_x(number, rounds)},{_y(value)}" for number, value in enumerate(values) if value is not None]


def _x(number: int, rounds: int) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * number / rounds, 1)


def _y(share: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - share), 1)


def main(names: Sequence[str]) -> None:
    from docs.making.cards import expression_of, page_names

    FOLDER.mkdir(exist_ok=True)
    for name in names or [name for name in page_names() if not (FOLDER / f"{name}.json").exists()]:
        made = measure(expression_of(name))
        (FOLDER / f"{name}.json").write_text(json.dumps(made, separators=(",", ":")) + "\n", encoding="utf-8")
        metric = shown_metric(made)
        print(f"{name}: {metric} {made['curves'][metric]['mean'][-1]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
