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
    return ["Site", "Examples", "Rounds", "Mean weight", "Dropped", f"Own {name}"]


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
    called, examples = _told(run)
    clients = sorted({*rounds, *dropped, *called})
    if all(client.lstrip("-").isdigit() for client in clients) and not called:
        return []
    weights, scores = mean_weights(run), client_scores(run, run.headline)
    return [
        [
            called.get(client, client),
            examples.get(client, "–"),
            f"{rounds.get(client, 0):,}",
            f"{weights[client]:.3f}" if client in weights else "–",
            f"{dropped.get(client, 0):,}",
            figure_text((scores[client], None), run.headline.key) if client in scores else "–",
        ]
        for client in clients[:MOST_SITES]
    ]


def _told(run: RunRecord) -> tuple[dict[str, str], dict[str, str]]:
    """What sites said of themselves, by client id: their names, with the number under which the pictures show them, and their examples."""
    called: dict[str, str] = {}
    examples: dict[str, str] = {}
    for name, said in run.sites.items():
        if isinstance(said, dict):
            client = str(said.get("client", name))
            called[client] = name if client == name else f"{name} (client {client})"
            if isinstance(said.get("examples"), int):
                examples[client] = f"{said['examples']:,}"
    return called, examples
