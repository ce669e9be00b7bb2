"""Clients that have names, such as the sites of a deployment, in a table: how often they counted, how much, and how they are served."""

from __future__ import annotations

from collections.abc import Sequence

from fl_runs.reading import RunRecord
from simulation.report.headline import figure_text
from simulation.report.pictures.client_map import mean_weights
from simulation.report.pictures.clients import client_scores

MOST_SITES = 200


def site_headings(runs: Sequence[RunRecord]) -> list[str]:
    name = runs[0].headline.name if runs else "accuracy"
    return ["Site", "Rounds", "Mean weight", "Dropped", f"Own {name}"]


def sites_of(runs: Sequence[RunRecord]) -> list[list[str]]:
    """One row per site of a single run; clients that are only numbered are no sites, and of several runs there is no table."""
    if len(runs) != 1:
        return []
    run = runs[0]
    rounds: dict[str, int] = {}
    dropped: dict[str, int] = {}
    for line in run.metrics:
        for client in line.get("cohort") or []:
            rounds[str(client)] = rounds.get(str(client), 0) + 1
        for drop in line.get("dropped") or []:
            dropped[str(drop.get("id"))] = dropped.get(str(drop.get("id")), 0) + 1
    names = sorted({*rounds, *dropped})
    if not names or all(name.lstrip("-").isdigit() for name in names):
        return []
    weights, scores = mean_weights(run), client_scores(run, run.headline)
    return [
        [
            name,
            f"{rounds.get(name, 0):,}",
            f"{weights[name]:.3f}" if name in weights else "–",
            f"{dropped.get(name, 0):,}",
            figure_text((scores[name], None), run.headline.key) if name in scores else "–",
        ]
        for name in names[:MOST_SITES]
    ]
