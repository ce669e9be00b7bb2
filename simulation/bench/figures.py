"""The bench's figures as a table on the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE
from rich.table import Table

COLUMNS = {
    "ideal_s": "ideal", "ours_s": "ours", "flower_s": "flower", "ours_over_ideal": "ours /\nideal",
    "flower_over_ours": "flower\n/ ours", "first_round_s": "first\nround", "flower_first_round_s": "flower's\nfirst",
    "peak_mb": "peak\nMB", "flower_peak_mb": "flower's\npeak",
}  # fmt: skip


def table(figures: Mapping[str, Mapping[str, float | int | None]]) -> Table:
    """One row per workload."""
    shown = Table(title="median seconds per round", box=SIMPLE, padding=(0, 0))
    shown.add_column("workload", no_wrap=True)
    for heading in COLUMNS.values():
        shown.add_column(heading, justify="right")
    for name, values in figures.items():
        cells = []
        for key in COLUMNS:
            value = values[key]
            digits = 0 if key.endswith("mb") else 1 if "first" in key else 2 if "over" in key else 3
            cells.append("-" if value is None else f"{value:.{digits}f}")
        shown.add_row(name, *cells)
    return shown
