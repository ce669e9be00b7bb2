"""Pictures of runs and partitions as plotly figures: pure functions of records, None where no run has the data.

Curves of runs that differ in their seed only become their mean and a band of one sample standard deviation, over the
rounds that all of them have. A configuration keeps its colour, dash and marker in every figure.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fl_runs.reading import RunGroup, RunRecord, group_runs, is_number

# At least 3:1 against the light and the dark page, and apart from each other for red- and green-blind eyes as well.
PALETTE = ("#326ec8", "#e76813", "#0a764b", "#c8328c", "#0e8eaf", "#8b47f0", "#948547", "#be7987")
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "triangle-down")
# For phases and data, which are no configurations: muted, so that no one takes these colours for a strategy's.
MUTED = ("#8c96a8", "#4f9a94", "#56739f", "#c2983f", "#9a6a90", "#7c8257")
SCALE = ((0.0, "#e6eefa"), (0.5, "#5d94d8"), (1.0, "#12366a"))
PHASES = ("sample", "send", "train", "aggregate", "evaluate", "checkpoint")
FORMAT_KEYS = frozenset(
    ("round", "global/accuracy", "global/loss", "train/loss", "bytes_up", "bytes_down", "cohort", "weights", "dropped")
)
TRAFFIC_WAYS = ("clients to server", "server to clients")
MANY_CLIENTS = 60  # from here on clients are ordered by their main class and no longer named one by one
MOST_COLUMNS = 300  # from here on neighbours share a column: a screen has no more
MOST_POINTS = 1500
MOST_CELLS = 200_000

Curve = tuple[list[int], np.ndarray, np.ndarray | None]  # rounds, mean, deviation over seeds


def accuracy_figure(runs: Sequence[RunRecord]) -> go.Figure | None:
    return curve_figure(runs, "global/accuracy", "Accuracy", ".1%")


def loss_figure(runs: Sequence[RunRecord], key: str = "global/loss") -> go.Figure | None:
    return curve_figure(runs, key, "Loss", ".4~g")


def extra_figures(runs: Sequence[RunRecord]) -> dict[str, go.Figure]:
    """One figure for each number that a method reports of its own, such as `ssa/loss_cos`, by that key."""
    keys = {key for run in runs for line in run.metrics for key, value in line.items() if is_number(value)}
    figures = {}
    for key in sorted(keys - FORMAT_KEYS):
        figure = curve_figure(runs, key, key, ".1%" if key.endswith("accuracy") else ".4~g")
        if figure is not None:
            figures[key] = figure
    return figures


def curve_figure(runs: Sequence[RunRecord], key: str, title: str, number: str) -> go.Figure | None:
    """`key` over the rounds, a line for each configuration."""
    figure = blank_figure("Round", title, hovermode="x unified")
    figure.update_yaxes(tickformat=".0%" if number.endswith("%") else ".3~g")
    figure.update_layout(height=460 if key == "global/accuracy" else 360)
    for index, group in enumerate(group_runs(runs)):
        figure.add_traces(_curve(group, index, across_seeds([run.series(key) for run in group.runs]), number))
    return _whole_rounds(figure) if figure.data else None


def across_seeds(series: Sequence[Mapping[int, float]]) -> Curve:
    """Rounds that every non-empty series has, the mean there, and the sample deviation where there are several."""
    series = [one for one in series if one]
    rounds = sorted(set.intersection(*(set(one) for one in series))) if series else []
    values = np.array([[one[number] for number in rounds] for one in series], dtype=float)
    values = values.reshape(len(series), len(rounds))
    mean = values.mean(axis=0) if series else np.zeros(0)
    return rounds, mean, values.std(axis=0, ddof=1) if len(series) > 1 else None


def class_accuracy_figure(runs: Sequence[RunRecord]) -> go.Figure | None:
    """Accuracy for each class at the last evaluation: bars for one configuration, dots for several."""
    groups = group_runs(runs)
    figure = blank_figure("Class", "Accuracy", hovermode="x unified", barmode="group", bargap=0.25)
    figure.update_layout(scattermode="group", scattergap=0.35)
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    for index, group in enumerate(groups):
        rows = [row for row in map(last_class_accuracy, group.runs) if row]
        if not rows or len({len(row) for row in rows}) > 1:
            continue
        mean = [_mean(column) for column in zip(*rows, strict=True)]
        spread = [_deviation(column) for column in zip(*rows, strict=True)] if len(rows) > 1 else None
        look: dict[str, Any] = {"x": class_names(group.runs[0], len(mean)), "y": mean, **identity_of(group, index)}
        look["hovertemplate"] = "%{y:.1%}" if spread is None else "%{y:.1%} ± %{error_y.array:.1%}"
        if spread is not None:
            look["error_y"] = {"type": "data", "array": spread, "thickness": 1, "width": 0}
        marker = {"color": colour_of(index)}
        if len(groups) == 1:
            figure.add_trace(go.Bar(**look, marker=marker))
        else:
            symbol = {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 8, "opacity": 0.9}
            figure.add_trace(go.Scatter(**look, mode="markers", marker=marker | symbol, offsetgroup=str(index)))
    figure.update_xaxes(type="category", showdividers=True)
    return figure if figure.data else None


def class_history_figure(run: RunRecord) -> go.Figure | None:
    """Accuracy of each class over the rounds, as a map: which classes are learned late, or forgotten."""
    lines = [line for line in run.metrics if isinstance(line.get("global/class_accuracy"), list)]
    if len(lines) < 3:
        return None
    lines = [lines[position] for position in _thin(len(lines), MOST_COLUMNS)]
    values = [[_finite(value) for value in line["global/class_accuracy"]] for line in lines]
    if len({len(row) for row in values}) > 1:
        return None
    figure = blank_figure("Round", None, height=_map_height(len(values[0])))
    template = "round %{x}, %{y}: %{z:.1%}<extra></extra>"
    rounds = [line["round"] for line in lines]
    names = class_names(run, len(values[0]))
    transposed = [list(row) for row in zip(*values, strict=True)]
    figure.add_trace(go.Heatmap(x=rounds, y=names, z=transposed, coloraxis="coloraxis", hovertemplate=template))
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    figure.update_layout(coloraxis=_coloraxis("Accuracy", tickformat=".0%", cmin=0, cmax=1))
    return _whole_rounds(figure)


def weights_figure(run: RunRecord, most_cells: int = MOST_CELLS) -> go.Figure | None:
    """Aggregation weight of each client in each round; blank where a client did not count."""
    lines = [
        line for line in run.metrics if line.get("weights") and len(line["weights"]) == len(line.get("cohort", []))
    ]
    if not lines:
        return None
    clients = _order({client for line in lines for client in line["cohort"]})
    row_of = {client: row for row, client in enumerate(clients)}
    columns = _bins(len(lines), min(MOST_COLUMNS, max(20, most_cells // len(clients))))
    total, seen = np.zeros((len(clients), len(columns))), np.zeros((len(clients), len(columns)))
    for column, members in enumerate(columns):
        for line in (lines[member] for member in members):
            for client, weight in zip(line["cohort"], line["weights"], strict=True):
                if is_number(weight):
                    total[row_of[client], column] += weight
                    seen[row_of[client], column] += 1
    shown = [[short(a / b) if b else None for a, b in zip(x, y, strict=True)] for x, y in zip(total, seen, strict=True)]
    figure = blank_figure("Round", "Client", height=_map_height(len(clients)))
    rounds = [lines[members[0]]["round"] for members in columns]
    when = "round %{x}" if len(columns) == len(lines) else "mean from round %{x} on"
    template = when + ", client %{y}: weight %{z:.4f}<extra></extra>"
    names = [plain_text(client) for client in clients]
    figure.add_trace(go.Heatmap(x=rounds, y=names, z=shown, coloraxis="coloraxis", hovertemplate=template))
    figure.update_traces(hoverongaps=False, xgap=1 if len(rounds) <= 60 else 0, ygap=1 if len(clients) <= 40 else 0)
    figure.update_yaxes(type="category", showgrid=False)
    figure.update_layout(
        coloraxis=_coloraxis("Weight", cmin=0, cmax=max(v for row in shown for v in row if v is not None))
    )
    return _whole_rounds(figure)


def traffic_figure(runs: Sequence[RunRecord]) -> go.Figure | None:
    """Megabytes (10^6 bytes) sent so far: both ways stacked for one configuration, their sum for several."""
    groups = group_runs(runs)
    figure = blank_figure("Round", "MB so far", hovermode="x unified")
    for index, group in enumerate(groups):
        ways = [across_seeds([_cumulative_mb(run, key) for run in group.runs]) for key in ("bytes_up", "bytes_down")]
        if len(groups) == 1:
            for way, (name, (rounds, mean, _)) in enumerate(zip(TRAFFIC_WAYS, ways, strict=True)):
                for trace in _curve(group, way, (rounds, mean, None), ",.4~g"):
                    figure.add_trace(trace.update(name=name, mode="lines", stackgroup="ways"))
        elif ways[0][0] == ways[1][0]:
            for trace in _curve(group, index, (ways[0][0], ways[0][1] + ways[1][1], None), ",.4~g"):
                figure.add_trace(trace)
    figure.update_yaxes(rangemode="tozero")
    return _whole_rounds(figure) if figure.data else None


def seconds_figure(runs: Sequence[RunRecord]) -> go.Figure | None:
    """Where the time goes: stacked by phase over the rounds of one run, or as the mean of a round for several."""
    runs = [run for run in runs if any(isinstance(line.get("seconds"), dict) for line in run.metrics)]
    if not runs:
        return None
    figure = blank_figure("Round", "Seconds", barmode="stack", hovermode="x unified", bargap=0.1)
    names = list(dict.fromkeys([*PHASES, *(key for run in runs for key in _seconds(run)[1])]))
    if len(runs) == 1:
        rounds, phases = _seconds(runs[0])
        columns = _bins(len(rounds), MOST_COLUMNS)
        figure.update_layout(bargap=0.1 if len(columns) <= 80 else 0)
        for index, phase in enumerate(names):
            if phase not in phases:
                continue
            values = [short(float(np.mean([phases[phase][i] for i in members]))) for members in columns]
            x = [rounds[members[0]] for members in columns]
            marker = {"color": MUTED[index % len(MUTED)], "line": {"width": 0}}
            figure.add_trace(go.Bar(x=x, y=values, name=plain_text(phase), marker=marker, hovertemplate="%{y:.3~g} s"))
        return _whole_rounds(figure) if figure.data else None
    groups = group_runs(runs)
    figure.update_layout(hovermode="y unified", height=max(280, 130 + 40 * len(groups)))
    for index, phase in enumerate(names):
        means = [_mean([v for run in group.runs for v in _seconds(run)[1].get(phase, [])]) for group in groups]
        if any(value is not None for value in means):
            labels = [_folded(group.label) for group in groups]
            bar = {"marker": {"color": MUTED[index % len(MUTED)]}, "hovertemplate": "%{x:.3~g} s"}
            figure.add_trace(go.Bar(y=labels, x=means, orientation="h", name=plain_text(phase), **bar))
    figure.update_xaxes(title_text="Seconds a round", showgrid=True)
    figure.update_yaxes(title_text=None, type="category", autorange="reversed", showgrid=False)
    return figure if figure.data else None


def partition_figure(
    counts: Sequence[Sequence[int]],
    class_names: Sequence[object],
    client_ids: Sequence[object],
    title: str | None = None,
) -> go.Figure:
    """Examples of each client (bars) and of each class at each client (map, shaded by the root of the number)."""
    matrix, labels, ordered = arrange_partition(counts, client_ids)
    names = [plain_text(label) for label in labels]
    figure = make_subplots(rows=2, shared_xaxes=True, row_heights=[0.24, 0.76], vertical_spacing=0.04)
    figure.update_layout(**_layout(height=_map_height(len(class_names)) + 110))
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
    axis = _coloraxis("Examples", cmin=0, cmax=max(largest, 1.0) ** 0.5)
    axis["colorbar"] |= {"tickvals": [tick**0.5 for tick in ticks], "ticktext": [f"{tick:,}" for tick in ticks]}
    figure.update_layout(coloraxis=axis)
    note = f"{len(client_ids)} clients, ordered by their main class" if ordered else "Client"
    figure.update_xaxes(type="category", showgrid=False, zeroline=False, automargin=True, ticks="")
    figure.update_xaxes(title=_axis_title(note), showticklabels=not ordered, row=2, col=1)
    figure.update_yaxes(automargin=True, zeroline=False)
    figure.update_yaxes(title=_axis_title("Examples"), nticks=4, row=1, col=1)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False, row=2, col=1)
    return figure


def class_balance_figure(partition: Mapping[str, Any]) -> go.Figure | None:
    """Share of each class over all clients against its share in what the server evaluates on."""
    target = partition.get("target_counts")
    pooled = np.asarray(partition["counts"], dtype=float).sum(axis=0)
    if not target or not pooled.sum() or not sum(target):
        return None
    figure = blank_figure("Class", "Share", height=280, hovermode="x unified", barmode="group", bargap=0.25)
    names = [plain_text(name) for name in partition["class_names"]]
    shares = {"all clients": pooled / pooled.sum(), "evaluation": np.asarray(target, dtype=float) / sum(target)}
    for index, (name, share) in enumerate(shares.items()):
        look = {"marker": {"color": MUTED[2 + index]}, "hovertemplate": "%{y:.1%}"}
        figure.add_trace(go.Bar(x=names, y=[short(value) for value in share], name=name, **look))
    figure.update_xaxes(type="category")
    figure.update_yaxes(tickformat=".0%")
    return figure


def partition_png(
    counts: Sequence[Sequence[int]], class_names: Sequence[object], client_ids: Sequence[object], path: Path
) -> None:
    """The partition figure as a static PNG, for a terminal without a browser."""
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
    figure.savefig(path, format="png")


def arrange_partition(
    counts: Sequence[Sequence[int]], client_ids: Sequence[object]
) -> tuple[np.ndarray, list[str], bool]:
    """Rows to draw, their labels, and whether they were reordered: many clients by main class, very many in bins."""
    matrix = np.asarray(counts, dtype=float)
    if matrix.ndim != 2 or len(matrix) != len(client_ids):
        raise ValueError(
            f"counts of shape {matrix.shape} do not fit {len(client_ids)} clients: one row a client is due."
        )
    labels = [str(client) for client in client_ids]
    if len(labels) <= MANY_CLIENTS:
        return matrix, labels, False
    main = matrix.argmax(axis=1)
    share = matrix.max(axis=1) / np.maximum(matrix.sum(axis=1), 1)
    order = np.lexsort((-share, main))
    bins = [[int(order[member]) for member in members] for members in _bins(len(order), MOST_COLUMNS)]
    names = [labels[one[0]] if len(one) == 1 else f"mean of {', '.join(labels[i] for i in one[:8])}" for one in bins]
    return np.array([matrix[one].mean(axis=0) for one in bins]), names, True


def last_class_accuracy(run: RunRecord) -> list[float | None] | None:
    for line in reversed(run.metrics):
        if isinstance(line.get("global/class_accuracy"), list) and line["global/class_accuracy"]:
            return [_finite(value) for value in line["global/class_accuracy"]]
    return None


def class_names(run: RunRecord, count: int) -> list[str]:
    names = run.partition["class_names"] if run.partition else []
    return [plain_text(name) for name in names] if len(names) == count else [str(index) for index in range(count)]


def _curve(group: RunGroup, index: int, curve: Curve, number: str) -> list[go.Scatter]:
    rounds, mean, deviation = curve
    if not rounds:
        return []
    keep = _thin(len(rounds), MOST_POINTS)
    x, y = [rounds[i] for i in keep], [short(mean[i]) for i in keep]
    style = {"color": colour_of(index), "width": 2, "dash": DASHES[index // len(PALETTE) % len(DASHES)]}
    line = go.Scatter(x=x, y=y, line=style, **identity_of(group, index), hovertemplate=f"%{{y:{number}}}")
    # Markers tell lines apart without colour; on long runs they would hide the line.
    line.update(mode="lines+markers" if len(x) <= 40 else "lines")
    line.update(marker={"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 6 if len(x) > 1 else 10})
    if deviation is None:
        return [line]
    spread = [short(deviation[i]) for i in keep]
    line.update(customdata=spread, hovertemplate=f"%{{y:{number}}} ± %{{customdata:{number}}}")
    edge = [a + b for a, b in zip(y, spread, strict=True)] + [a - b for a, b in zip(y, spread, strict=True)][::-1]
    band = go.Scatter(x=x + x[::-1], y=[short(v) for v in edge], fill="toself", mode="lines", line={"width": 0})
    band.update(
        fillcolor=_translucent(colour_of(index)), hoverinfo="skip", **identity_of(group, index) | {"showlegend": False}
    )
    return [band, line]


def identity_of(group: RunGroup, index: int) -> dict[str, Any]:
    return {"name": plain_text(group.label), "legendgroup": f"group-{index}"}


def colour_of(index: int) -> str:
    return PALETTE[index % len(PALETTE)]


def _translucent(colour: str) -> str:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


def blank_figure(x: str, y: str | None, height: int = 360, **layout: Any) -> go.Figure:
    figure = go.Figure(layout=_layout(height=height, **layout))
    figure.update_xaxes(title=_axis_title(x), showgrid=False, zeroline=False, automargin=True)
    figure.update_yaxes(title=None if y is None else _axis_title(y), zeroline=False, automargin=True)
    return figure


def _whole_rounds(figure: go.Figure) -> go.Figure:
    """A short run would get ticks between its rounds."""
    last = max(max(trace.x) for trace in figure.data)
    return figure.update_xaxes(dtick=1) if last <= 10 else figure


def _axis_title(text: str) -> dict[str, Any]:
    return {"text": plain_text(text), "standoff": 10, "font": {"size": 12}}


def _layout(**layout: Any) -> dict[str, Any]:
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left", "traceorder": "normal"}
    return {
        "template": go.layout.Template(),
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13},
        "margin": {"l": 8, "r": 16, "t": 12, "b": 8},
        "legend": legend,
        "dragmode": False,
    } | layout


def _coloraxis(title: str, **axis: Any) -> dict[str, Any]:
    bar: dict[str, Any] = {
        "title": {"text": title, "side": "right", "font": {"size": 12}},
        "thickness": 10,
        "outlinewidth": 0,
        "len": 0.9,
    }
    if "tickformat" in axis:
        bar["tickformat"] = axis.pop("tickformat")
    return {"colorscale": [list(stop) for stop in SCALE], "colorbar": bar} | axis


def _map_height(rows: int) -> int:
    return int(min(620, max(240, 90 + 24 * rows)))


def _seconds(run: RunRecord) -> tuple[list[int], dict[str, list[float]]]:
    """Rounds with timings, and for each phase its seconds there (0 where a round did not have the phase)."""
    timed = [(line["round"], line["seconds"]) for line in run.metrics if isinstance(line.get("seconds"), dict)]
    names = dict.fromkeys(name for _, spent in timed for name, value in spent.items() if is_number(value))
    phases = {name: [float(s[name]) if is_number(s.get(name)) else 0.0 for _, s in timed] for name in names}
    return [number for number, _ in timed], phases


def _cumulative_mb(run: RunRecord, key: str) -> dict[int, float]:
    """Megabytes up to and with each round, from 0 before the first."""
    series = run.series(key)
    if not series:
        return {}
    totals = np.cumsum([0.0, *series.values()]) / 1e6
    return dict(zip([min(series) - 1, *series], totals.tolist(), strict=True))


def _order(clients: Iterable[Any]) -> list[Any]:
    return sorted(clients, key=lambda client: (0, client, "") if isinstance(client, int) else (1, 0, str(client)))


def _bins(length: int, most: int) -> list[list[int]]:
    """Neighbouring positions, in at most `most` bins of equal size (the last may be smaller)."""
    size = -(-length // most)
    return [list(range(start, min(start + size, length))) for start in range(0, length, size)] if length else []


def _thin(length: int, most: int) -> list[int]:
    """Evenly spread positions with the first and the last among them."""
    return list(range(length)) if length <= most else sorted({round(i) for i in np.linspace(0, length - 1, most)})


def _round_steps(largest: float) -> list[int]:
    """Up to five round numbers between 0 and `largest` for a colour bar with a root scale."""
    if largest < 4:
        return list(range(int(largest) + 1))
    steps = [largest * share for share in (0.06, 0.25, 0.55, 1.0)]
    tens = [10 ** int(np.log10(max(step, 1))) for step in steps]
    return [0, *sorted({int(step // ten * ten) for step, ten in zip(steps, tens, strict=True) if step >= 1})]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return short(float(np.mean(known))) if known else None


def _deviation(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return short(float(np.std(known, ddof=1))) if len(known) > 1 else None


def _finite(value: Any) -> float | None:
    return short(value) if is_number(value) else None


def short(value: float) -> float:
    """Six digits are more than a picture shows, and a third of the page's size."""
    return float(f"{value:.6g}")


def plain_text(text: object) -> str:
    """Plotly reads tags in its texts; a name is text."""
    return html.escape(str(text), quote=False)


def _folded(label: str) -> str:
    """A long label as short lines, so that an axis leaves room for its bars on a phone."""
    parts = label.split(" · ")
    return "<br>".join(plain_text(part if len(part) <= 24 else part[:23] + "…") for part in parts)
