"""The comparison for elsewhere: a CSV file with all digits, and a LaTeX table with the figures of the page."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from fl_config.files import write_atomically
from simulation.report.table import Comparison, ComparisonRow

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "–": "--",
}


def records_of(table: Comparison) -> list[dict[str, Any]]:
    """One row per configuration with plain values, None where there is no number: for CSV and for a DataFrame."""
    return [_record(row, table.headline.name) for row in table.rows]


def as_csv(table: Comparison) -> str:
    """Numbers as Python writes them, so that they read back to the last digit; what there is not is empty."""
    rows = records_of(table)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_latex(table: Comparison) -> str:
    """A tabular that needs no package."""
    headings = table.headings
    lines = [_line(headings), *(_line(cells) for cells in table.cells())]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
            r"\hline",
            lines[0],
            r"\hline",
            *lines[1:],
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


def write_tables(table: Comparison, csv: Path | None, latex: Path | None) -> None:
    """Write the table to these files, as far as they are named."""
    if csv is not None:
        write_atomically(csv, as_csv(table).encode())
    if latex is not None:
        write_atomically(latex, as_latex(table).encode())


def escaped(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


def _line(cells: list[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def _record(row: ComparisonRow, metric: str) -> dict[str, Any]:
    final, best, test = row.final or (None, None), row.best or (None, None), row.against
    return {
        "configuration": row.configuration,
        "strategy": row.strategy,
        **row.settings,
        "metric": metric,
        "seeds": len(row.seeds),
        "seed_list": " ".join("" if seed is None else str(seed) for seed in row.seeds),
        "final_mean": final[0],
        "final_std": final[1],
        "best_mean": best[0],
        "best_std": best[1],
        "baseline": test and test.baseline,
        "pairs": test and test.pairs,
        "difference": test and test.difference,
        "p": test and test.p,
        "rounds": row.rounds[1],
        "finished": row.finished,
        "megabytes": row.megabytes,
        "seconds": row.seconds,
    }
