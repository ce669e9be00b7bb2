"""Who holds what: the examples of each class at each client, for the report and as a static picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fl_config.files import write_atomically
from simulation.report.pictures.drawing import (
    MOST_COLUMNS,
    MUTED,
    SCALE,
    axis_title,
    bins,
    coloraxis,
    layout_of,
    map_height,
    plain_text,
    short,
)

MANY_CLIENTS = 60  # from here on clients are ordered by their main class and no longer named one by one


def partition_figure(
    counts: Sequence[Sequence[int]],
    class_names: Sequence[object],
    client_ids: Sequence[object],
    title: str | None = None,
) -> go.Figure:
    """Bars of each client's examples, above a map of its examples of each class, shaded by the root of their number."""
    matrix, labels, ordered = arrange_partition(counts, client_ids)
    names = [plain_text(label) for label in labels]
    figure = make_subplots(rows=2, shared_xaxes=True, row_heights=[0.24, 0.76], vertical_spacing=0.04)
    figure.update_layout(**layout_of(height=map_height(len(class_names)) + 110))
    figure.update_layout(title=None if title is None else plain_text(title), showlegend=False, bargap=0.15)
    template = "client %{x}: %{y:,.4~g} examples<extra></extra>"
    figure.add_bar(x=names, y=matrix.sum(axis=1).tolist(), marker_color=MUTED[0], hovertemplate=template, row=1, col=1)
    rooted = [[short(value**0.5) if value else None for value in row] for row in matrix.T.tolist()]
    cells = go.Heatmap(x=names, y=[plain_text(name) for name in class_names], z=rooted, coloraxis="coloraxis")
    cells.update(customdata=matrix.T.tolist(), hoverongaps=False)
    cells.update(hovertemplate="client %{x}, class %{y}: %{customdata:,.4~g} examples<extra></extra>")
    if len(labels) <= MANY_CLIENTS:
        cells.update(xgap=2, ygap=2)
    if len(labels) <= 12:
        cells.update(text=[[f"{v:g}" if v else "" for v in row] for row in matrix.T.tolist()], texttemplate="%{text}")
    figure.add_trace(cells, row=2, col=1)
    largest = float(matrix.max()) if matrix.size else 0.0
    ticks = _round_steps(largest)
    axis = coloraxis("Examples", cmin=0, cmax=max(largest, 1.0) ** 0.5)
    axis["colorbar"] |= {"tickvals": [tick**0.5 for tick in ticks], "ticktext": [f"{tick:,}" for tick in ticks]}
    figure.update_layout(coloraxis=axis)
    note = f"{len(client_ids)} clients, ordered by their main class" if ordered else "Client"
    figure.update_xaxes(type="category", showgrid=False, zeroline=False, automargin=True, ticks="")
    figure.update_xaxes(title=axis_title(note), showticklabels=not ordered, row=2, col=1)
    figure.update_yaxes(automargin=True, zeroline=False)
    figure.update_yaxes(title=axis_title("Examples"), nticks=4, row=1, col=1)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False, row=2, col=1)
    return figure


def some_of_many(splits: Mapping[str, Mapping[str, Any]]) -> str:
    """The end of a caption where a run has too many clients to show them all."""
    for split in splits.values():
        if (shown := len(split["client_ids"])) < (clients := split.get("clients", shown)):
            return f" Of {clients:,} clients, {shown} that are spread evenly are shown."
    return ""


def partition_png(
    counts: Sequence[Sequence[int]], class_names: Sequence[object], client_ids: Sequence[object], path: Path
) -> None:
    """The same as a static PNG file, for where there is no browser."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm
    from matplotlib.figure import Figure

    matrix, labels, ordered = arrange_partition(counts, client_ids)
    figure = Figure(figsize=(10, 2.6 + min(12, 0.28 * len(class_names))), layout="constrained")
    bars, cells = figure.subplots(2, 1, sharex=True, height_ratios=[1, 3])
    bars.bar(range(len(labels)), matrix.sum(axis=1), color=MUTED[0], width=0.85)
    bars.set_ylabel("Examples")
    bars.spines[["top", "right"]].set_visible(False)
    colours = LinearSegmentedColormap.from_list("examples", list(SCALE))
    shown = np.ma.masked_equal(matrix.T, 0)
    norm = PowerNorm(0.5, vmin=0, vmax=max(1.0, float(matrix.max()) if matrix.size else 0.0))
    image = cells.imshow(shown, aspect="auto", cmap=colours, norm=norm, interpolation="nearest")
    # "$" would start matplotlib's mathematics in a name that is only text.
    cells.set_yticks(range(len(class_names)), [str(name).replace("$", r"\$") for name in class_names])
    step = max(1, len(labels) // 25)
    ticks = [] if ordered else list(range(0, len(labels), step))
    cells.set_xticks(ticks, [labels[tick].replace("$", r"\$") for tick in ticks])
    cells.set_xlabel(f"{len(client_ids)} clients, ordered by their main class" if ordered else "Client")
    figure.colorbar(image, ax=[bars, cells], label="Examples", shrink=0.8)
    FigureCanvasAgg(figure)
    content = io.BytesIO()
    figure.savefig(content, format="png")
    write_atomically(path, content.getvalue())


def arrange_partition(
    counts: Sequence[Sequence[int]], client_ids: Sequence[object]
) -> tuple[np.ndarray, list[str], bool]:
    """Rows to draw, their labels, and whether they were reordered.

    Many clients are ordered by their main class; of very many, neighbours in that order share a row with their mean.
    """
    matrix = np.asarray(counts, dtype=float)
    if matrix.ndim != 2 or len(matrix) != len(client_ids):
        raise ValueError(
            f"counts of shape {matrix.shape} do not fit {len(client_ids)} clients: one row per client is expected."
        )
    labels = [str(client) for client in client_ids]
    if len(labels) <= MANY_CLIENTS:
        return matrix, labels, False
    main = matrix.argmax(axis=1)
    share = matrix.max(axis=1) / np.maximum(matrix.sum(axis=1), 1)
    order = np.lexsort((-share, main))
    columns = [[int(order[place]) for place in places] for places in bins(len(order), MOST_COLUMNS)]
    names = [labels[one[0]] if len(one) == 1 else f"mean of {', '.join(labels[i] for i in one[:8])}" for one in columns]
    return np.array([matrix[one].mean(axis=0) for one in columns]), names, True


def _round_steps(largest: float) -> list[int]:
    """Up to five round numbers between 0 and `largest` for a colour bar with a root scale."""
    if largest < 4:
        return list(range(int(largest) + 1))
    steps = [largest * share for share in (0.06, 0.25, 0.55, 1.0)]
    tens = [10 ** int(np.log10(max(step, 1))) for step in steps]
    return [0, *sorted({int(step // ten * ten) for step, ten in zip(steps, tens, strict=True) if step >= 1})]
