"""Who is served well: one dot per client, at the place of its label mix, as large as its data, shaded by its own figure.

A simulation knows the labels of its clients: the plane is the two main directions (principal components) in which their label mixes
differ, so that clients with like data are neighbours. A deployment never tells labels: there the axes are a client's mean weight and its own
figure. The shade is, by what a run has recorded, the client's own headline on held-out data, or the accuracy that the class
accuracies of the final model give on its label mix, sum_c share_c accuracy_c, or its mean weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fl_runs.reading import Headline, RunRecord, is_number
from simulation.report.headline import shared_headline, title_of, unit_of
from simulation.report.pictures.classes import class_names, last_class_accuracy
from simulation.report.pictures.clients import client_scores
from simulation.report.pictures.drawing import MUTED, short
from simulation.report.pictures.figure import Axis, Dots, Figure, Look, Plot, Shades, Unit

MOST_DOTS = 1500  # on a page; of more clients, so many that are spread evenly
FEWEST_DOTS = 60
NAMED = 3  # the worst served clients, which are labelled
RADII = (4.0, 15.0)  # of a client without examples, and of the largest
HEIGHT = 420
NEAR = 0.02  # of the picture's width: places that are one
GOLDEN_ANGLE = 2.39996


@dataclass
class ClientMap:
    figure: Figure
    caption: str


@dataclass
class Served:
    """What shades the dots: a number per client, and what it is."""

    values: dict[str, float]
    what: str
    unit: Unit
    told: str  # in the caption
    better: str = "more"

    def worst(self, clients: Sequence[str]) -> list[int]:
        """The places of the worst served, where it says how well clients are served."""
        sign = -1.0 if self.better == "less" else 1.0
        known = [place for place, client in enumerate(clients) if client in self.values]
        return sorted(known, key=lambda place: sign * self.values[clients[place]])[:NAMED]


def client_map(run: RunRecord, runs: int = 1) -> ClientMap | None:
    """The map of one run, of so many that share a page."""
    headline = shared_headline([run])
    if run.partition and len(run.partition["client_ids"]) > 2 and len(run.partition["class_names"]) > 1:
        return _by_labels(run, headline, max(FEWEST_DOTS, MOST_DOTS // runs))
    return _by_weight(run, headline)


def _by_labels(run: RunRecord, headline: Headline, most: int) -> ClientMap | None:
    split = run.partition or {}
    step = -(-len(split["client_ids"]) // most)
    clients, counts = (
        [str(client) for client in split["client_ids"]][::step],
        np.asarray(split["counts"], float)[::step],
    )
    served = _served(run, headline, clients, counts)
    if served is None:
        return None
    sizes = counts.sum(axis=1)
    mixes = counts / np.maximum(sizes, 1)[:, None]
    middle = mixes[sizes > 0].mean(axis=0) if sizes.any() else 0.0  # the place of a client that has nothing
    places, directions = principal_plane(np.where(sizes[:, None] > 0, mixes, middle))
    radii = RADII[0] + (RADII[1] - RADII[0]) * np.sqrt(sizes / max(sizes.max(), 1))
    names = class_names(run, counts.shape[1])
    across, up = (Axis(_direction(one, names), labelled=False, grid=False) for one in directions)
    if not directions[1].any():  # mixes that differ in one way only leave room for the figure itself
        up = Axis(served.what, served.unit)
        places[:, 1] = [served.values.get(client, np.nan) for client in clients]
    else:
        places = side_by_side(places)
    plot = Plot(across, up)
    order = np.argsort(-sizes, kind="stable")  # small dots lie on large ones
    shown = [clients[i] for i in order]
    dots = Dots(Look("clients", MUTED[0]), _rough(places[order, 0]), _rough(places[order, 1]))
    dots.sizes = [short(radius) for radius in radii[order].round(1)]
    dots.shades = [short(served.values[client]) if client in served.values else None for client in shown]
    dots.named = served.worst(shown)
    examples = {client: int(size) for client, size in zip(clients, sizes, strict=True)}
    dots.notes = [f"client {client}" for client in shown]
    dots.hover = f"{{note}}: {served.what} {{z}}"
    weights = mean_weights(run)
    dots.details = [
        _mix(row, names, examples[client]) + (f"; mean weight {weights[client]:.3g}" if client in weights else "")
        for row, client in zip(mixes[order], shown, strict=True)
    ]
    plot.marks.append(dots)
    caption = (
        "One dot per client: neighbours have like label mixes (the two directions in which these differ most), larger dots have "
        f"more examples, and the shade is {served.told}. Point at a dot for its mix and its mean weight."
    )
    return ClientMap(Figure([plot], HEIGHT, shades=_shades(served)), caption + _worst(served))


def _by_weight(run: RunRecord, headline: Headline) -> ClientMap | None:
    """Without labels: how much a client counts, and how well it is served."""
    scores, weights = client_scores(run, headline), mean_weights(run)
    clients = [client for client in scores if client in weights]
    if len(clients) < 2:
        return None
    served = _own(scores, headline)
    plot = Plot(Axis("Mean weight when it counted"), Axis(f"{title_of(headline)} on its own data", served.unit))
    dots = Dots(Look("clients", MUTED[2]), [short(weights[c]) for c in clients], [short(scores[c]) for c in clients])
    dots.notes, dots.sizes, dots.named = list(clients), [7.0] * len(clients), served.worst(clients)
    dots.hover = f"client {{note}}: {headline.name} {{y}}, weight {{x}}"
    plot.marks.append(dots)
    caption = f"One dot per client: how much it counts, and the {headline.name} on its own held-out data."
    return ClientMap(Figure([plot], HEIGHT), caption + _worst(served))


def principal_plane(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each row's place in the plane in which rows differ most, and the plane's two directions (zero where rows do not differ so).

    The largest part of a direction is positive, so that the same rows always give the same picture.
    """
    centred = rows - rows.mean(axis=0)
    _, strengths, directions = np.linalg.svd(centred, full_matrices=False)
    plane = np.zeros((2, rows.shape[1]))
    found = directions[:2][strengths[:2] > 1e-9 * max(1.0, strengths[0])]
    signs = np.sign(found[np.arange(len(found)), np.abs(found).argmax(axis=1)])
    plane[: len(found)] = found * np.where(signs == 0, 1, signs)[:, None]
    return centred @ plane.T, plane


def side_by_side(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Dots that would hide one another, such as of clients with the same mix, around their place instead, as seeds of a sunflower are."""
    step = NEAR * max(float(np.ptp(places, axis=0).max()), 1e-12)
    met: Counter[tuple[int, int]] = Counter()
    moves = np.zeros_like(places)
    for number, place in enumerate(places):
        across, up = (int(steps) for steps in np.round(place / step))
        angle, away = GOLDEN_ANGLE * met[across, up], step * met[across, up] ** 0.5
        moves[number] = away * np.cos(angle), away * np.sin(angle)
        met[across, up] += 1
    return places + moves


def mean_weights(run: RunRecord) -> dict[str, float]:
    """How much each client counted, in the mean of the rounds in which it did."""
    found: dict[str, list[float]] = {}
    for line in run.metrics:
        for client, weight in zip(line.get("cohort") or [], line.get("weights") or [], strict=False):
            if is_number(weight):
                found.setdefault(str(client), []).append(float(weight))
    return {client: float(np.mean(weights)) for client, weights in found.items()}


def _served(run: RunRecord, headline: Headline, clients: Sequence[str], counts: NDArray[np.float64]) -> Served | None:
    if scores := client_scores(run, headline):
        return _own(scores, headline)
    accuracies = last_class_accuracy(run)
    if accuracies is not None and len(accuracies) == counts.shape[1]:
        return Served(
            expected_accuracy(clients, counts, accuracies),
            "expected accuracy",
            "share",
            "the accuracy to be expected of the global model there: the last accuracies of the classes, by the client's mix of them",
        )
    if weights := mean_weights(run):
        return Served(weights, "mean weight", "number", "the mean weight when it counted", better="")
    return None


def _own(scores: Mapping[str, float], headline: Headline) -> Served:
    told = f"the {headline.name} on its own held-out data"
    return Served(dict(scores), headline.name, unit_of(headline.key), told, headline.better)


def expected_accuracy(
    clients: Sequence[str], counts: NDArray[np.float64], accuracies: Sequence[float | None]
) -> dict[str, float]:
    """sum_c share_c accuracy_c, over the classes of which the accuracy is known; nothing for a client that has none of them."""
    known = np.array([value is not None for value in accuracies])
    values = np.array([value or 0.0 for value in accuracies])
    totals = (counts * known).sum(axis=1)
    return {
        client: float(row @ values / total)
        for client, row, total in zip(clients, counts * known, totals, strict=True)
        if total
    }


def _shades(served: Served) -> Shades:
    values = list(served.values.values())
    low, high = min(values), max(values)
    return Shades(served.what[0].upper() + served.what[1:], low, high if high > low else low + 1e-9, served.unit)


def _worst(served: Served) -> str:
    return f" The {NAMED} worst served are named." if served.better and len(served.values) > NAMED else ""


def _rough(values: NDArray[np.float64]) -> list[float | None]:
    """Three digits are a pixel, and a dot is larger than that."""
    return [float(f"{value:.3g}") if np.isfinite(value) else None for value in values]


def _direction(direction: NDArray[np.float64], names: Sequence[str]) -> str:
    """The classes that a direction tells apart."""
    less, more = int(direction.argmin()), int(direction.argmax())
    if direction[more] <= 0 or direction[less] >= 0:
        return ""
    return f"← more {names[less]} · more {names[more]} →"


def _mix(mix: NDArray[np.float64], names: Sequence[str], size: int) -> str:
    """A client's examples in words: how many, and the classes of most of them."""
    largest = [c for c in np.argsort(-mix, kind="stable")[:3] if mix[c] >= 0.05]
    parts = ", ".join(f"{100 * mix[c]:.0f}% {names[c]}" for c in largest)
    return f"{size:,} examples: {parts}" if parts else f"{size:,} examples"
