"""`fedloom deploy status`: two tables that speak of sites by name, or the same as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from deploy.overview import Overview, Run, Site
from fedloom.cli.deploy.status import NO_RUN, NO_SITE, duration, show
from fedloom.cli.main import main
from tests.fedloom.cli.deploy.replaced import FakeControl

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def shown(capsys: pytest.CaptureFixture[str], sites: list[Site], runs: list[Run]) -> list[list[str]]:
    """The words of each line, cut where two spaces are."""
    show(Overview(sites, runs), NOW)
    return [
        [word.strip() for word in line.split("  ") if word.strip()] for line in capsys.readouterr().out.splitlines()
    ]


def test_sites_and_runs_are_two_tables(capsys: pytest.CaptureFixture[str]) -> None:
    sites = [
        Site("site-a", "online", NOW - timedelta(minutes=3), "1.0", 40, "first", 12, 1),
        Site("site-b", "registered", NOW - timedelta(days=2)),
        Site("site-c", "offline", None, "1.0", 40, "first", None, 0),
    ]
    runs = [Run("10487608854767019357", "first", "fedavg", "running", NOW, 50, 12, "accuracy", 0.81234, 3700.0)]
    lines = shown(capsys, sites, [*runs, Run("5", "", "fedavg", "failed", NOW, 3, reason="No data.")])
    assert lines[1] == ["site-a", "online", "3 min ago", "1.0", "40", "round 12 of first", "1 time"]
    assert lines[2] == ["site-b", "never seen", "2 d ago", "-", "-", "-", "-"]
    assert lines[3] == ["site-c", "offline", "-", "1.0", "40", "never", "never"]
    assert lines[6] == [
        "10487608854767019357",
        "first",
        "fedavg",
        "running",
        "12 of 50",
        "accuracy 0.8123",
        "1 h 1 min",
    ]
    assert lines[7] == ["5", "-", "fedavg", "failed", "- of 3", "-", "-"]
    assert lines[8] == ["5 failed: No data."]


def test_an_empty_federation_says_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    show(Overview([], []), NOW)
    told = capsys.readouterr().out
    assert NO_SITE in told and NO_RUN in told


def test_json_holds_the_same(started: list[Any], server: FakeControl, capsys: pytest.CaptureFixture[str]) -> None:
    server.add("site-a", "online")
    capsys.readouterr()
    assert main(["deploy", "status", "--json"]) == 0
    assert [site["name"] for site in json.loads(capsys.readouterr().out)["sites"]] == ["site-a"]
    assert main(["deploy", "status"]) == 0
    assert "site-a" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-1, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (4000, "1 h 6 min"),
        (40000, "11 h"),
        (90000, "1 d 1 h"),
    ],
)
def test_a_length_of_time_is_short(seconds: float, told: str) -> None:
    assert duration(seconds) == told
