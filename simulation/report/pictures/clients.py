"""The headline of each client by name: bars of one run, dots of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from fl_runs.reading import Headline, RunRecord, group_runs, is_number
from simulation.report.headline import hover_format, shared_headline, tick_format, title_of
from simulation.report.pictures.drawing import (
    MOST_COLUMNS,
    SYMBOLS,
    blank_figure,
    colour_of,
    identity_of,
    mean_of,
    plain_text,
    short,
)
from simulation.report.pictures.personal import last_personal

MANY_CLIENTS = 60  # from here on they are named on hover only


def client_figure(runs: Sequence[RunRecord]) -> go.Figure | None:
    """The headline of each client at the last evaluation, from the worst served client (in the mean of the runs) to the best."""
    headline = shared_headline(runs)
    own = {run.name: client_scores(run, headline) for run in runs}
    clients = sorted_clients(list(own.values()), headline)
    if not clients:
        return None
    shown = clients[:MOST_COLUMNS]
    note = "Client" if len(shown) == len(clients) else f"The {len(shown)} worst served of {len(clients):,} clients"
    figure = blank_figure(note, title_of(headline), hovermode="closest", bargap=0.25)
    figure.update_layout(scattermode="group", scattergap=0.35)
    template = f"client %{{x}}: %{{y:{hover_format(headline.key)}}}"
    for index, group in enumerate(group_runs(runs)):
        for number, run in enumerate(group.runs):
            scores = own[run.name]
            names = [client for client in shown if client in scores]
            look = {"x": list(map(plain_text, names)), "y": [short(scores[client]) for client in names]}
            look |= identity_of(group, index) | {"hovertemplate": f"{template}<extra></extra>"}
            marker: dict[str, Any] = {"color": colour_of(index)}
            if number:
                look["showlegend"] = False  # the configuration is named once
            if len(runs) == 1:
                figure.add_trace(go.Bar(**look, marker=marker))
            elif names:
                look["hovertemplate"] = f"{template}<extra>{plain_text(run.name)}</extra>"
                marker |= {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 8, "opacity": 0.8}
                figure.add_trace(go.Scatter(**look, mode="markers", marker=marker, offsetgroup=str(index)))
    order = {"categoryorder": "array", "categoryarray": list(map(plain_text, shown))}
    figure.update_xaxes(type="category", showticklabels=len(shown) <= MANY_CLIENTS, **order)
    return figure.update_yaxes(tickformat=tick_format(headline.key), rangemode="tozero")


def client_scores(run: RunRecord, headline: Headline) -> dict[str, float]:
    """The headline of each client of a run at its last evaluation, without clients for which it is not defined."""
    line = last_personal(run, headline)
    ids, values = line.get("personal/client_ids") or [], line.get(f"personal/client_{headline.key}") or []
    if len(ids) != len(values):
        return {}
    return {str(client): float(value) for client, value in zip(ids, values, strict=True) if is_number(value)}


def sorted_clients(scores: Sequence[dict[str, float]], headline: Headline) -> list[str]:
    """Every client, the worst served first by its mean over the runs."""
    names = dict.fromkeys(client for one in scores for client in one)
    means = {client: mean_of([one[client] for one in scores if client in one]) or 0.0 for client in names}
    return sorted(names, key=lambda client: means[client], reverse=headline.better == "less")
