"""How much each client counted in each round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fl_runs.reading import RunRecord, is_number
from simulation.report.pictures.drawing import MOST_COLUMNS, bins, map_height, short
from simulation.report.pictures.figure import Axis, Cells, Figure, Plot, Shades, names_axis

MOST_CELLS = 100_000


def weights_figure(run: RunRecord, most_cells: int = MOST_CELLS) -> Figure | None:
    """A map of each client's aggregation weight in each round, blank where the client did not count."""
    lines = [
        line for line in run.metrics if line.get("weights") and len(line["weights"]) == len(line.get("cohort", []))
    ]
    if not lines:
        return None
    clients = _order({client for line in lines for client in line["cohort"]})
    columns = bins(len(lines), min(MOST_COLUMNS, max(20, most_cells // len(clients))))
    shown = _mean_weights([[lines[place] for place in places] for places in columns], clients)
    rounds = [lines[places[0]]["round"] for places in columns]
    when = "round {x}" if len(columns) == len(lines) else "mean from round {x} on"
    cells = Cells(shown, when + ", client {y}: weight {z}", gaps=len(rounds) <= 60 and len(clients) <= 40)
    plot = Plot(Axis("Round", "round", rounds, grid=False), names_axis("Client", clients), [cells])
    largest = max((v for row in shown for v in row if v is not None), default=1.0)
    return Figure([plot], map_height(len(clients)), shades=Shades("Weight", 0, largest))


def _mean_weights(columns: Sequence[Sequence[Mapping[str, Any]]], clients: Sequence[Any]) -> list[list[float | None]]:
    """One row per client: its mean weight over the rounds of each column, None where it counted in none of them."""
    row_of = {client: row for row, client in enumerate(clients)}
    total, seen = np.zeros((len(clients), len(columns))), np.zeros((len(clients), len(columns)))
    for column, lines in enumerate(columns):
        for line in lines:
            for client, weight in zip(line["cohort"], line["weights"], strict=True):
                if is_number(weight):
                    total[row_of[client], column] += weight
                    seen[row_of[client], column] += 1
    return [[short(a / b) if b else None for a, b in zip(x, y, strict=True)] for x, y in zip(total, seen, strict=True)]


def _order(clients: Iterable[Any]) -> list[Any]:
    """Numbers in their order, then names in theirs."""
    return sorted(clients, key=lambda client: (0, client, "") if isinstance(client, int) else (1, 0, str(client)))
