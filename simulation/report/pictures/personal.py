"""Clients' own figures: how the headline is spread over the clients and clusters, and what CUAU saw of their skew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fl_runs.reading import Headline, RunRecord, group_runs, is_number
from simulation.report.headline import shared_headline, unit_of
from simulation.report.pictures.drawing import DASHES, MUTED, PALETTE, SYMBOLS, look_of, short
from simulation.report.pictures.figure import Axis, Dots, Figure, Line, Look, Plot

MOST_STEPS = 400  # a distribution of more clients is drawn by its quantiles


def label_skew(counts: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """KL(labels | uniform) of each client in nats: 0 for even classes, log C for one class only.

    It is fl_data.discrepancy's "kl" for every row, written again because fl_data loads torch and a report has to open
    without it; a client without examples has no distribution and gets 0.
    """
    matrix = np.asarray(counts, dtype=float)
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    terms = np.zeros_like(share)
    np.log(share * share.shape[1], out=terms, where=share > 0)
    skew: NDArray[np.float64] = (share * terms).sum(axis=1)
    return skew


def cuau_figure(run: RunRecord) -> Figure | None:
    """CUAU of each client against its true label skew, by cluster."""
    measured = _measured(run)
    if not measured or run.partition is None:
        return None
    skew = dict(zip(map(str, run.partition["client_ids"]), label_skew(run.partition["counts"]), strict=True))
    known = [(client, *measured[client]) for client in measured if client in skew]
    plot = Plot(Axis("Label skew, KL to uniform (nats)", grid=False), Axis("CUAU"))
    for cluster in sorted({cluster for _, _, cluster in known}):
        members = [(client, score) for client, score, own in known if own == cluster]
        look = cluster_look(cluster)
        x, y = [short(skew[client]) for client, _ in members], [short(score) for _, score in members]
        names = [client for client, _ in members]
        plot.marks.append(Dots(look, x, y, notes=names, hover="client {note}: skew {x}, CUAU {y}"))
    return Figure([plot], 420, legend=True) if plot.marks else None


def cluster_look(cluster: int) -> Look:
    place = cluster - 1
    return Look(
        f"cluster {cluster}", MUTED[cluster % len(MUTED)], DASHES[place % len(DASHES)], SYMBOLS[place % len(SYMBOLS)]
    )


def personal_figure(runs: Sequence[RunRecord]) -> Figure | None:
    """The share of clients whose figure is at most so large, at the last evaluation, all seeds together.

    A single configuration is also drawn as it was before fine-tuning, as a dotted line.
    """
    groups, headline = group_runs(runs), shared_headline(runs)
    own = f"personal/client_{headline.key}"
    figure = _distribution(headline)
    for index, group in enumerate(groups):
        lines = [last_personal(run, headline) for run in group.runs]
        for key, dash in (("personal/client_before", "dot"), (own, DASHES[index // len(PALETTE) % len(DASHES)])):
            values = _numbers(lines, key)
            if not values or (dash == "dot" and (len(groups) > 1 or values == _numbers(lines, own))):
                continue
            look = look_of(group, index)
            look.dash = dash
            look.name += " before fine-tuning" if dash == "dot" else ""
            figure.plot.marks.append(_steps(values, look))
    return figure if figure.marks else None


def cluster_figure(run: RunRecord) -> Figure | None:
    """The same distribution for each cluster of one run."""
    headline = shared_headline([run])
    line = last_personal(run, headline)
    clusters, values = line.get("personal/client_cluster"), line.get(f"personal/client_{headline.key}")
    if not clusters or not values or len(clusters) != len(values):
        return None
    figure = _distribution(headline)
    for cluster in sorted(set(clusters)):
        own = [value for value, place in zip(values, clusters, strict=True) if place == cluster and is_number(value)]
        if own:
            figure.plot.marks.append(_steps(own, cluster_look(cluster)))
    return figure if figure.marks else None


def last_personal(run: RunRecord, headline: Headline) -> Mapping[str, Any]:
    """The last line with the headline of each client."""
    return next((line for line in reversed(run.metrics) if line.get(f"personal/client_{headline.key}")), {})


def _numbers(lines: Sequence[Mapping[str, Any]], key: str) -> list[float]:
    return [value for line in lines for value in line.get(key) or [] if is_number(value)]


def _distribution(headline: Headline) -> Figure:
    whose = "Accuracy of a client's own model" if headline == Headline() else f"{headline.name} of a client"
    y = Axis("Share of clients up to it", "share", low=0, high=1)
    return Figure([Plot(Axis(whose, unit_of(headline.key), grid=False), y)], legend=True)


def _steps(values: Sequence[float], look: Look) -> Line:
    ordered = np.sort(values)
    if len(ordered) > MOST_STEPS:
        ordered = np.quantile(ordered, np.linspace(0, 1, MOST_STEPS))
    x = [short(ordered[0]), *(short(value) for value in ordered)]
    y = [short(place / len(ordered)) for place in range(len(ordered) + 1)]
    return Line(look, [*x], [*y], stepped=True, hover="{y} of the clients have at most {x}")


def _measured(run: RunRecord) -> dict[str, tuple[float, int]]:
    """CUAU and cluster of every client, including those that joined later."""
    found: dict[str, tuple[float, int]] = {}
    for line in run.metrics:
        columns = [line.get(f"cuau/{key}") or [] for key in ("client_ids", "scores", "clusters")]
        if len({len(column) for column in columns}) == 1:
            for client, score, cluster in zip(*columns, strict=True):
                if is_number(score):
                    found[str(client)] = (float(score), int(cluster))
    return found
