"""What all pictures share: colours, the empty figure, and how numbers and names are made fit to be drawn."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

import numpy as np
import plotly.graph_objects as go

from fl_runs.reading import RunGroup

# At least 3:1 against the light and the dark page, and apart from each other for red- and green-blind eyes as well.
PALETTE = ("#326ec8", "#e76813", "#0a764b", "#c8328c", "#0e8eaf", "#8b47f0", "#948547", "#be7987")
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "triangle-down")
# For phases and data, which are no configurations: muted, so that no one takes these colours for a strategy's.
MUTED = ("#8c96a8", "#4f9a94", "#56739f", "#c2983f", "#9a6a90", "#7c8257")
SCALE = ((0.0, "#e6eefa"), (0.5, "#5d94d8"), (1.0, "#12366a"))
MOST_COLUMNS = 300  # from here on neighbours share a column: a screen has no more


def blank_figure(x: str, y: str | None, height: int = 360, **layout: Any) -> go.Figure:
    figure = go.Figure(layout=layout_of(height=height, **layout))
    figure.update_xaxes(title=axis_title(x), showgrid=False, zeroline=False, automargin=True)
    figure.update_yaxes(title=None if y is None else axis_title(y), zeroline=False, automargin=True)
    return figure


def whole_rounds(figure: go.Figure) -> go.Figure:
    """Put ticks at whole rounds only; Plotly would put some between the rounds of a short run."""
    last = max(max(trace.x) for trace in figure.data)
    return figure.update_xaxes(dtick=1) if last <= 10 else figure


def layout_of(**layout: Any) -> dict[str, Any]:
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left", "traceorder": "normal"}
    return {
        "template": go.layout.Template(),
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13},
        "margin": {"l": 8, "r": 16, "t": 12, "b": 8},
        "legend": legend,
        "dragmode": False,
    } | layout


def axis_title(text: str) -> dict[str, Any]:
    return {"text": plain_text(text), "standoff": 10, "font": {"size": 12}}


def coloraxis(title: str, **axis: Any) -> dict[str, Any]:
    bar: dict[str, Any] = {
        "title": {"text": title, "side": "right", "font": {"size": 12}},
        "thickness": 10,
        "outlinewidth": 0,
        "len": 0.9,
    }
    if "tickformat" in axis:
        bar["tickformat"] = axis.pop("tickformat")
    return {"colorscale": [list(stop) for stop in SCALE], "colorbar": bar} | axis


def map_height(rows: int) -> int:
    return int(min(620, max(240, 90 + 24 * rows)))


def identity_of(group: RunGroup, index: int) -> dict[str, Any]:
    return {"name": plain_text(group.label), "legendgroup": f"group-{index}"}


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


def plain_text(text: object) -> str:
    """The text with its tags escaped, because Plotly would read them."""
    return html.escape(str(text), quote=False)
