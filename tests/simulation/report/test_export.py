"""CSV and LaTeX: the numbers of the page, in all three."""

from __future__ import annotations

import csv
import html
import io
import re
from pathlib import Path

import pytest

from fl_runs.reading import read_runs
from simulation.report.export import LATEX, as_csv, as_latex, escaped, write_tables
from simulation.report.headline import figure_text
from simulation.report.page import render
from simulation.report.paired import Paired
from simulation.report.table import comparison, duration
from tests.runs.made_runs import MakeRun, record


def page_rows(page: str) -> list[list[str]]:
    """The table of results as the page has it."""
    body = page.split('<table class="results">')[1].split("</table>")[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("<tr>")[1:]]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in row] for row in rows]


def latex_rows(text: str) -> list[list[str]]:
    back = {value: key for key, value in LATEX.items()}
    plain = re.compile("|".join(re.escape(value) for value in sorted(back, key=len, reverse=True)))
    lines = [line.removesuffix(r" \\") for line in text.splitlines() if line.endswith(r"\\")]
    return [[plain.sub(lambda found: back[found[0]], cell) for cell in line.split(" & ")] for line in lines]


def csv_rows(text: str) -> list[list[str]]:
    """The rows of the CSV, written as the page writes them."""
    rows = []
    for row in csv.DictReader(io.StringIO(text)):
        key = row["metric"].replace("-", "_")

        def spread(name: str, row: dict[str, str] = row, key: str = key) -> str:
            mean, std = row[f"{name}_mean"], row[f"{name}_std"]
            return figure_text((float(mean), float(std) if std else None) if mean else None, key)

        test = "–"
        if row["p"]:
            test = Paired(row["baseline"], int(row["pairs"]), float(row["difference"]), float(row["p"])).text(key)
        seeds = row["seed_list"].replace(" ", ", ")
        size, time = f"{float(row['megabytes']):,.1f}", duration(float(row["seconds"]))
        rows.append([row["configuration"], seeds, spread("final"), spread("best"), row["rounds"], size, time, test])
    return rows


@pytest.mark.parametrize("baseline", ["", "feddisco"])
def test_page_csv_and_latex_have_the_same_numbers(make_run: MakeRun, baseline: str) -> None:
    folders = [
        make_run(f"{name}-{lr}-{seed}", strategy=name, seed=seed, rounds=3, lr=lr)
        for name in ("fedavg", "feddisco", "feddyn+disco")
        for lr in (0.05, 0.1)
        for seed in range(4)
    ]
    runs = read_runs(folders)
    table = comparison(runs, baseline)
    headings, *rows = page_rows(render(runs, baseline=baseline))
    assert headings[-1] == f"Against {baseline or 'fedavg'}" and len(rows) == 6
    assert latex_rows(as_latex(table)) == [headings, *rows]
    assert csv_rows(as_csv(table)) == rows
    assert sum("n = 4, p = " in row[-1] for row in rows) == 4


def test_csv_has_what_was_varied_and_reads_back_to_the_last_digit() -> None:
    runs = [record("fedavg", seed, {1: 0.1 + 1 / (3 + seed)}, lr=lr) for lr in (0.1, 0.2) for seed in range(2)]
    (first, second) = csv.DictReader(io.StringIO(as_csv(comparison(runs))))
    assert (first["lr"], second["lr"], first["seeds"], first["p"]) == ("0.1", "0.2", "2", "")
    assert float(first["final_mean"]) == (0.1 + 1 / 3 + 0.1 + 1 / 4) / 2


def test_latex_escapes_what_it_would_read_as_its_own() -> None:
    assert escaped(r"a_b & 50% of $x ^~\{}#") == (
        r"a\_b \& 50\% of \$x \textasciicircum{}\textasciitilde{}\textbackslash{}\{\}\#"
    )


def test_files_are_written_where_they_are_named(tmp_path: Path) -> None:
    table = comparison([record("fedavg", 0, {1: 0.5})])
    write_tables(table, None, tmp_path / "new" / "t.tex")
    assert [item.name for item in (tmp_path / "new").iterdir()] == ["t.tex"]
    write_tables(table, tmp_path / "t.csv", None)
    assert (tmp_path / "t.csv").read_text() == as_csv(table)
