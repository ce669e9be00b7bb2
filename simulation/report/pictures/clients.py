"""The headline of each client by name: bars of one run, dots of several."""

from __future__ import annotations

from collections.abc import Sequence

from fl_runs.reading import Headline, RunRecord, group_runs, is_number
from simulation.report.headline import shared_headline, title_of, unit_of
from simulation.report.pictures.drawing import MOST_COLUMNS, look_of, mean_of, short
from simulation.report.pictures.figure import Axis, Bars, Dots, Figure, Plot, names_axis
from simulation.report.pictures.personal import last_personal

MANY_CLIENTS = 60  # from here on they are named on hover only


def client_figure(runs: Sequence[RunRecord]) -> Figure | None:
    """The headline of each client at the last evaluation, from the worst served client (in the mean of the runs) to the best."""
    headline = shared_headline(runs)
    own = {run.name: client_scores(run, headline) for run in runs}
    clients = sorted_clients(list(own.values()), headline)
    if not clients:
        return None
    shown = clients[:MOST_COLUMNS]
    note = "Client" if len(shown) == len(clients) else f"The {len(shown)} worst served of {len(clients):,} clients"
    axis = names_axis(note, shown, labelled=len(shown) <= MANY_CLIENTS)
    plot = Plot(axis, Axis(title_of(headline), unit_of(headline.key), from_zero=True))
    for index, group in enumerate(group_runs(runs)):
        for number, run in enumerate(group.runs):
            scores = own[run.name]
            names = [client for client in shown if client in scores]
            values = [short(scores[client]) for client in names]
            look = look_of(group, index)
            look.told = not number  # the configuration is named once
            if len(runs) == 1:
                plot.marks.append(Bars(look, names, values, hover="client {x}: {y}"))
            elif names:
                notes = [run.name] * len(names)
                plot.marks.append(Dots(look, names, values, notes=notes, hover="client {x}: {y}\n{note}"))
    return Figure([plot], legend=len(runs) > 1)


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
