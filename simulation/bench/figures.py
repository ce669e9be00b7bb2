"""The bench's figures on the terminal: one line per workload as it is measured, a table of all, and what changed since an earlier one."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE
from rich.table import Table

COLUMNS = {
    "ideal_s": "ideal", "parallel_s": "par-\nallel", "ours_s": "ours", "flower_s": "flower", "pfl_s": "pfl",
    "ours_over_ideal": "ours /\nideal", "ours_over_parallel": "ours /\nparallel", "flower_over_ours": "flower\n/ ours",
    "pfl_over_ours": "pfl /\nours", "first_round_s": "first\nround", "flower_first_round_s": "flower's\nfirst",
    "peak_mb": "peak\nMB",
}  # fmt: skip
OTHERS = {"parallel_s": "bare loops side by side", "flower_s": "Flower's engine", "pfl_s": "pfl-research"}

Values = Mapping[str, float | int | None]


def line(values: Values) -> str:
    """The seconds of one workload, ours and the others'."""
    told = [f"{values['ours_s']:.3f} s per round"]
    told += [f"{what} {values[key]:.3f}" for key, what in OTHERS.items() if values[key] is not None]
    return ", ".join(told)


def table(figures: Mapping[str, Values]) -> Table:
    """One row per workload."""
    shown = _empty("median seconds per round")
    for name, values in figures.items():
        cells = []
        for key in COLUMNS:
            value = values[key]
            digits = 0 if key.endswith("mb") else 1 if "first" in key else 2 if "over" in key else 3
            cells.append("-" if value is None else f"{value:.{digits}f}")
        shown.add_row(name, *cells)
    return shown


def changes(figures: Mapping[str, Values], earlier: Mapping[str, Values]) -> Table:
    """Each figure divided by the earlier one: 1 is no change, and what only one of the two has is left blank."""
    shown = _empty("now / earlier")
    for name, values in figures.items():
        before = earlier.get(name, {})
        cells = []
        for key in COLUMNS:
            now, then = values[key], before.get(key)
            cells.append("-" if now is None or not then else f"{now / then:.2f}")
        shown.add_row(name, *cells)
    return shown


def _empty(title: str) -> Table:
    shown = Table(title=title, box=SIMPLE, padding=(0, 0))
    shown.add_column("workload", no_wrap=True)
    for heading in COLUMNS.values():
        shown.add_column(heading, justify="right")
    return shown
