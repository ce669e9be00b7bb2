"""The table in its three forms, of results that were made up, and its place in a file."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from fl_config.errors import ConfigError
from simulation.reproduce.beside import BEGIN, CSV, END, MARKDOWN, PAGE, as_markdown, as_page, put_into, write_all
from simulation.reproduce.kept_results import Result, run_name
from simulation.reproduce.published import read_tables
from simulation.reproduce.verdicts import Ours, side_by_side
from tests.simulation.reproduce.toy_table import toy_table


@pytest.fixture
def rows(tmp_path: Path) -> list[Ours]:
    read = read_tables([toy_table(tmp_path)])
    known = {}
    for seed, last in ((3, 0.625), (4, 0.5)):
        name = run_name(read[0].settings[0], seed)
        known[name] = Result(name, {}, seed, 2, {"cohort/accuracy": {0: 0.1, 1: 0.2, 2: last}}, {}, 1.0, [])
    return side_by_side(read, known)


def test_the_three_forms_say_the_same(rows: list[Ours], tmp_path: Path) -> None:
    page = write_all(rows, tmp_path / "out")
    text = (tmp_path / "out" / MARKDOWN).read_text()
    assert "| toy-iid-fedavg | digits, IID | FedAvg | cohort | 50 % | 56.25 % | 8.84 | 3 4 | within (+6.25) |" in text
    assert "| toy-iid-fedprox | digits, IID | FedProx, best mu | cohort | above FedAvg | – | – | – | not run |" in text
    assert "**A toy table** (nobody)" in text and "- Within 100 points: anything will do." in text
    assert f"`{rows[0].results[0].name}.json`" in text
    with (tmp_path / "out" / CSV).open() as file:
        first, second, third = csv.DictReader(file)
    assert (first["ours"], first["seeds"], first["published"]) == ("56.25", "3 4", "50.0")
    assert (second["ours"], second["verdict"]) == ("", "not run")
    assert (third["measure"], third["ours"]) == ("rounds to 30", "2.0")
    told = page.read_text()
    assert (
        page.name == PAGE
        and "within (+6.25)" in told
        and "cohort/accuracy" in told
        and "Configuration</h2>" not in told
    )


def test_the_page_shows_what_is_run_and_counts_the_rest(rows: list[Ours]) -> None:
    told = as_page(rows)
    assert "FedProx, best mu</td>" not in told and "1 other row is not run" in told
    nothing = as_page([Ours(one.row) for one in rows])
    assert "FedProx, best mu</td>" in nothing and "not run; published.md" not in nothing


def test_the_table_of_a_file_is_replaced_between_its_marks(rows: list[Ours], tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(f"before\n{BEGIN}old\n{END}after\n")
    for _ in range(2):
        put_into(file, rows)
        assert file.read_text() == f"before\n{BEGIN}\n{as_markdown(rows)}\n{END}after\n"
    file.write_text("no marks\n")
    with pytest.raises(ConfigError, match="lacks the lines"):
        put_into(file, rows)


def test_the_table_of_the_experiments_is_that_of_their_results() -> None:
    """Made by `make published`: no figure stands there that no kept run gave."""
    from simulation.reproduce.kept_results import read_results

    experiments = Path(__file__).resolve().parents[3] / "experiments"
    told = as_markdown(side_by_side(read_tables(), read_results(experiments / "results")))
    assert f"{BEGIN}\n{told}\n{END}" in (experiments / "README.md").read_text(encoding="utf-8")
