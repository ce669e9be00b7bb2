"""The table of published figures with ours beside them, as Markdown, as CSV with all digits, and as a page with curves."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from fl_config.errors import ConfigError
from fl_config.files import write_atomically
from simulation.report.page import filled
from simulation.report.panel import Panel
from simulation.report.pictures.curves import curve_figure
from simulation.reproduce.kept_results import Result
from simulation.reproduce.verdicts import Ours, verdict

HEADINGS = ("Row", "Data", "Method", "Scored", "Published", "Ours", "Deviation", "Seeds", "Verdict")
MARKDOWN, CSV, PAGE = "published.md", "published.csv", "published.html"
BEGIN, END = "<!-- begin of `fedloom reproduce --table` -->\n", "<!-- end of `fedloom reproduce --table` -->\n"


def cells(rows: Sequence[Ours]) -> list[list[str]]:
    others = {one.row.name: one for one in rows}
    return [
        [
            one.row.name,
            one.row.data,
            one.row.method,
            one.row.score.partition("/")[0],
            one.row.published,
            one.text,
            "–" if one.deviation is None else f"{one.deviation:.2f}",
            " ".join(str(result.seed) for result in one.results) or "–",
            verdict(one, others),
        ]
        for one in rows
    ]


def as_markdown(rows: Sequence[Ours]) -> str:
    """One part per table, with its source, and below it why its tolerances are what they are and which files the figures are of."""
    shown = dict(zip([one.row.name for one in rows], cells(rows), strict=True))
    parts = []
    for title in dict.fromkeys(one.row.table for one in rows):
        own = [one for one in rows if one.row.table == title]
        lines = [f"**{title}** ({own[0].row.source})", "", _line(HEADINGS), _line(["---"] * len(HEADINGS))]
        lines += [_line(shown[one.row.name]) for one in own]
        reasons = dict.fromkeys(
            (one.row.tolerance, one.row.unit, one.row.why) for one in own if one.row.figure is not None
        )
        lines += [
            "",
            *(f"- Within {tolerance:g}{unit.replace(' %', ' points')}: {why}" for tolerance, unit, why in reasons),
        ]
        lines += [
            f"- `{one.row.name}`: {', '.join(f'`{result.name}.json`' for result in one.results)}"
            for one in own
            if one.results
        ]
        parts.append("\n".join(lines).rstrip() + "\n")
    return "\n".join(parts)


def _line(cells_of_row: Sequence[str]) -> str:
    return "| " + " | ".join(cells_of_row) + " |"


def as_csv(rows: Sequence[Ours]) -> str:
    others = {one.row.name: one for one in rows}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [*(heading.lower() for heading in HEADINGS), "measure", "tolerance", "setting", "source", "results"]
    )
    for one in rows:
        row, mean, deviation = one.row, one.mean, one.deviation
        figure = row.published if row.figure is None else row.figure
        seeds, files = (
            " ".join(str(result.seed) for result in one.results),
            " ".join(result.name for result in one.results),
        )
        ours = ["" if mean is None else mean, "" if deviation is None else deviation, seeds, verdict(one, others)]
        writer.writerow(
            [
                row.name,
                row.data,
                row.method,
                row.score,
                figure,
                *ours,
                row.measure,
                row.tolerance,
                one.label,
                row.source,
                files,
            ]
        )
    return text.getvalue()


def as_page(rows: Sequence[Ours]) -> str:
    """The rows that have runs, and one section of curves for each of their data sets and splits."""
    panels = []
    for table, data in dict.fromkeys((one.row.table, one.row.data) for one in rows if one.results):
        own = [one for one in rows if (one.row.table, one.row.data) == (table, data)]
        drawn: dict[str, dict[tuple[str, str], Result]] = {}
        for one in own:
            label = f"{one.row.method} ({one.label})" if one.label else one.row.method
            drawn.setdefault(one.row.score, {}).update({(label, result.name): result for result in one.results})
        figures = {
            score: curve_figure([result.as_run(label) for (label, _), result in runs.items()], score, score)
            for score, runs in drawn.items()
        }
        published = "; ".join(f"{one.row.method} {one.row.published}" for one in own)
        caption = f"{table}. Published: {published}. Several seeds are drawn as their mean, within one deviation."
        panels.append(
            (data, Panel(caption, {score: figure for score, figure in figures.items() if figure is not None}))
        )
    run = [row for row, one in zip(cells(rows), rows, strict=True) if one.results] or cells(rows)
    missing = len(rows) - len(run)
    others = (
        f" {missing} other row{'s are' if missing > 1 else ' is'} not run; {MARKDOWN} beside this page has all of them."
    )
    return filled(
        panels,
        title="Published figures, and ours",
        headings=HEADINGS[1:],  # a page has no room for what a row is called, and nobody can paste it there
        rows=[row[1:] for row in run],
        rows_caption="Ours is the mean over seeds, beside it the sample standard deviation. Within or outside is by each row's own "
        f"tolerance; the difference is in brackets, or for a gain that of each seed.{others if missing else ''}",
    )


def write_all(rows: Sequence[Ours], folder: Path) -> Path:
    """Write the table in all three forms; returns the page."""
    for name, text in ((MARKDOWN, as_markdown(rows)), (CSV, as_csv(rows)), (PAGE, as_page(rows))):
        write_atomically(folder / name, text.encode())
    return folder / PAGE


def put_into(file: Path, rows: Sequence[Ours]) -> None:
    """Replace what is between the two marks of a Markdown file by the table."""
    text = file.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text.partition(BEGIN)[2]:
        raise ConfigError(
            f"{file} lacks the lines {BEGIN.strip()!r} and {END.strip()!r}, between which the table belongs."
        )
    before, _, rest = text.partition(BEGIN)
    write_atomically(file, f"{before}{BEGIN}\n{as_markdown(rows)}\n{END}{rest.partition(END)[2]}".encode())
