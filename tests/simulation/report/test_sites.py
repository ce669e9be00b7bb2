"""Sites by their names: counted, weighed, dropped, served."""

from __future__ import annotations

from simulation.report.page import render
from simulation.report.sites import site_headings, sites_of
from tests.runs.made_runs import record
from tests.simulation.report.headline_runs import scored


def test_every_site_has_its_row() -> None:
    run = scored("fedavg", "accuracy", [0.1, 0.2, 0.3], clients={"north": 0.5, "south": 0.25})
    run.metrics[1] |= {"cohort": ["north", "south"], "weights": [0.75, 0.25]}
    run.metrics[2] |= {"cohort": ["north"], "weights": [1.0], "dropped": [{"id": "east", "reason": "late"}]}
    assert site_headings([run]) == ["Site", "Examples", "Rounds", "Mean weight", "Dropped", "Own accuracy"]
    assert sites_of([run]) == [
        ["east", "–", "0", "–", "1", "–"],
        ["north", "–", "2", "0.875", "0", "50.00 %"],
        ["south", "–", "1", "0.250", "0", "25.00 %"],
    ]
    assert "Table of sites" in render([run])


def test_sites_go_by_what_they_said_of_themselves() -> None:
    """Those that take a share of a public set have numbers in the record, and names all the same; half-written words are passed over."""
    run = record("fedavg", 1, {0: 0.1})
    run.metrics[0] |= {"cohort": [0, 1], "weights": [0.5, 0.5]}
    run.sites = {"uni": {"client": 1, "examples": 1738}, "clinic": {"client": 0, "examples": None}, "odd": "word"}
    assert [row[:3] for row in sites_of([run])] == [["clinic (client 0)", "–", "1"], ["uni (client 1)", "1,738", "1"]]
    run.sites = {"late": {"client": "late", "examples": 3}}
    assert sites_of([run])[-1] == ["late", "3", "0", "–", "0", "–"]


def test_numbered_clients_and_several_runs_have_no_table() -> None:
    run = record("fedavg", 1, {0: 0.1})
    run.metrics[0] |= {"cohort": [0, 1], "weights": [0.5, 0.5]}
    assert sites_of([run]) == []
    run.metrics[0]["cohort"] = ["a", "b"]
    assert len(sites_of([run])) == 2 and sites_of([run, run]) == []
    assert "Table of sites" not in render([record("fedavg", 1, {0: 0.1})])
