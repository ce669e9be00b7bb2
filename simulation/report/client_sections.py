"""The page's sections about single clients: how each is served, and where it stands among the others."""

from __future__ import annotations

from collections.abc import Sequence

from fl_runs.reading import Headline, RunRecord, group_runs
from simulation.report.headline import shared_headline, title_of
from simulation.report.panel import Panel
from simulation.report.pictures import client_map, clients, personal


def client_panel(runs: Sequence[RunRecord]) -> Panel | None:
    headline, figure = shared_headline(runs), clients.client_figure(runs)
    several = " One dot per run." if len(runs) > 1 else ""
    caption = (
        f"The {headline.name} of each client on its own held-out data at the last evaluation, the worst first.{several}"
    )
    return (
        Panel(caption, {"": figure}, keyed=len(runs) > 1, title=f"{title_of(headline)} by client") if figure else None
    )


def client_map_panel(runs: Sequence[RunRecord]) -> Panel | None:
    maps = {run.name: found for run in runs if (found := client_map.client_map(run, len(runs)))}
    if not maps:
        return None
    captions = dict.fromkeys(found.caption for found in maps.values())
    return Panel(" ".join(captions), {name: found.figure for name, found in maps.items()}, wide=False)


def personal_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure, headline = personal.personal_figure(runs), shared_headline(runs)
    keyed = len(group_runs(runs)) > 1
    if headline == Headline():
        caption = (
            "How accurate the clients' own models are on their own held-out data: a line further right serves clients "
            "better, a steeper one serves them more equally."
        )
        return Panel(caption, {"": figure}, keyed=keyed) if figure else None
    side = "left" if headline.better == "less" else "right"
    caption = (
        f"How the {headline.name} on their own held-out data is spread over the clients: a line further {side} serves "
        "clients better, a steeper one serves them more equally."
    )
    return Panel(caption, {"": figure}, keyed=keyed, title=f"{headline.name} over the clients") if figure else None


def cuau_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures = {run.name: figure for run in runs if (figure := personal.cuau_figure(run))}
    caption = (
        "What the server saw of each client in one shot, CUAU, against how skewed its labels really are, which only a "
        "simulation knows."
    )
    return Panel(caption, figures, wide=False) if figures else None


def cluster_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures = {run.name: figure for run in runs if (figure := personal.cluster_figure(run))}
    headline = shared_headline(runs)
    what, title = (
        ("Accuracy", "") if headline == Headline() else (f"The {headline.name}", f"{headline.name} by cluster")
    )
    caption = f"{what} of the clients' own models, cluster by cluster; cluster 1 has the least skewed labels."
    return Panel(caption, figures, wide=False, title=title) if figures else None
