"""Who holds what: the examples of each class at each client, for the report and as a static picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fl_config.files import write_atomically
from simulation.report.pictures.drawing import MOST_COLUMNS, MUTED, SCALE, bins, map_height, short
from simulation.report.pictures.figure import Axis, Bars, Cells, Figure, Look, Plot, Shades, names_axis

MANY_CLIENTS = 60  # from here on clients are ordered by their main class and no longer named one by one


def partition_figure(
    counts: Sequence[Sequence[int]], class_names: Sequence[object], client_ids: Sequence[object]
) -> Figure:
    """Bars of each client's examples, above a map of its examples of each class, shaded by the root of their number."""
    matrix, labels, ordered = arrange_partition(counts, client_ids)
    note = f"{len(client_ids)} clients, ordered by their main class" if ordered else "Client"
    sizes = [short(size) for size in matrix.sum(axis=1).tolist()]
    bars = Bars(Look("examples", MUTED[0]), list(labels), sizes, hover="client {x}: {y} examples")
    above = Plot(names_axis("", labels, labelled=False), Axis("Examples", from_zero=True), [bars], share=0.24)
    amounts = matrix.T.tolist()
    rooted = [[short(value**0.5) if value else None for value in row] for row in amounts]
    cells = Cells(rooted, "client {x}, class {y}: {note} examples", gaps=len(labels) <= MANY_CLIENTS)
    cells.notes = [[short(value) if value else 0 for value in row] for row in amounts]
    if len(labels) <= 12:
        cells.texts = [[f"{value:g}" if value else "" for value in row] for row in amounts]
    places = names_axis("", class_names)
    map_ = Plot(names_axis(note, labels, labelled=not ordered), places, [cells], share=0.76)
    largest = float(matrix.max()) if matrix.size else 0.0
    ticks = [(tick**0.5, f"{tick:,}") for tick in _round_steps(largest)]
    shades = Shades("Examples", 0, max(largest, 1.0) ** 0.5, ticks=ticks)
    return Figure([above, map_], map_height(len(class_names)) + 110, shades=shades)


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
