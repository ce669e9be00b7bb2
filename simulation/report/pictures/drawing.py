"""What all pictures share: colours, and how numbers and names are made fit to be drawn."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fl_runs.reading import RunGroup
from simulation.report.pictures.figure import Look

# At least 3:1 against the light and the dark page, and apart from each other for red- and green-blind eyes as well.
PALETTE = ("#326ec8", "#e76813", "#0a764b", "#c8328c", "#0e8eaf", "#8b47f0", "#948547", "#be7987")
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "triangle-down")
# For phases and data, which are no configurations: muted, so that no one takes these colours for a strategy's.
MUTED = ("#8c96a8", "#4f9a94", "#56739f", "#c2983f", "#9a6a90", "#7c8257")
SCALE = ((0.0, "#e6eefa"), (0.5, "#5d94d8"), (1.0, "#12366a"))
MOST_COLUMNS = 300  # from here on neighbours share a column: a screen has no more


def map_height(rows: int) -> int:
    return int(min(620, max(240, 90 + 24 * rows)))


def look_of(group: RunGroup, index: int) -> Look:
    """A configuration looks the same in every picture."""
    dash = DASHES[index // len(PALETTE) % len(DASHES)]
    return Look(group.label, colour_of(index), dash, SYMBOLS[index % len(SYMBOLS)], index)


def colour_of(index: int) -> str:
    return PALETTE[index % len(PALETTE)]


def bins(length: int, most: int) -> list[list[int]]:
    """Neighbouring positions, in at most `most` bins of equal size (the last may be smaller)."""
    size = -(-length // most)
    return [list(range(start, min(start + size, length))) for start in range(0, length, size)] if length else []


def thin(length: int, most: int) -> list[int]:
    """Evenly spread positions with the first and the last among them."""
    return list(range(length)) if length <= most else sorted({round(i) for i in np.linspace(0, length - 1, most)})


def mean_of(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return short(float(np.mean(known))) if known else None


def short(value: float) -> float:
    """The number with six digits: more than a picture shows, and a third of the page's size."""
    return float(f"{value:.6g}")
