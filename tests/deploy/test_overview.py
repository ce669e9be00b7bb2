"""Sites and runs as an operator sees them, with the run folders at hand and without."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deploy.overview import Overview
from deploy.upkeep import DATABASE
from fl_protocol.flower.control import RegisteredNode, SubmittedRun

THEN = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
NODES = [
    RegisteredNode(1, "site-b", "revoked", THEN, b"old"),
    RegisteredNode(11, "site-a", "online", THEN, b"a"),
    RegisteredNode(12, "site-b", "offline", THEN, b"b"),
    RegisteredNode(13, "site-c", "registered", THEN, b"c"),
    RegisteredNode(14, "site-d", "revoked", THEN, b"d"),
    RegisteredNode(15, "", "online", THEN, b"e"),
]


def submitted(number: int, folder: str, state: str = "running", **options: Any) -> SubmittedRun:
    given = {"out": folder, "rounds": 10, "strategy": "fedavg", **options}
    return SubmittedRun(number, given, state, "", THEN)


def write_run(folder: Path, clients: dict[str, int | str], lines: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('strategy = "feddyn"\nrounds = 10\nheadline = "auto"\n')
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    sites = {
        name: {"client": client, "examples": 40, "software": "1.0", "node": 10 + number}
        for number, (name, client) in enumerate(clients.items(), start=1)
    }
    (folder / "sites.json").write_text(json.dumps(sites))


def line(
    round: int, cohort: list[Any], dropped: list[Any], accuracy: float = 0.5, seconds: float = 2.0
) -> dict[str, Any]:
    return {
        "round": round,
        "cohort": cohort,
        "dropped": [{"id": one, "reason": "no reply within 9 s"} for one in dropped],
        "global/accuracy": accuracy,
        "seconds": {"train": seconds},
    }


@pytest.fixture
def server(tmp_path: Path) -> Path:
    (tmp_path / DATABASE).touch()
    lines = [
        {"round": 0, "global/accuracy": 0.1},
        line(1, ["site-a", "site-b"], []),
        line(2, ["site-a"], ["site-b"]),
        line(3, ["site-a"], ["site-b"], accuracy=0.75, seconds=5.0),
    ]
    write_run(tmp_path / "first", {"site-a": "site-a", "site-b": "site-b"}, lines)
    write_run(tmp_path / "trial", {"site-a": 0}, [line(1, [0], [])])
    return tmp_path


def test_sites_are_told_by_name_with_what_their_last_run_knows(server: Path) -> None:
    overview = Overview.of(NODES, [submitted(7, "first"), submitted(6, "trial", "completed")], server)
    names = [site.name for site in overview.sites]
    assert names == ["site-a", "site-b", "site-c", "", "site-d"], "a name twice, or the revoked ones not last"
    a, b, c = overview.sites[:3]
    assert (a.state, a.fedloom, a.examples, a.run, a.last_round, a.left_out) == ("online", "1.0", 40, "first", 3, 0)
    assert (b.state, b.last_round, b.left_out) == ("offline", 1, 2), "the revoked key was shown instead of the new one"
    assert (c.state, c.fedloom, c.examples, c.last_round, c.left_out) == ("registered", None, None, None, None)


def test_a_site_is_found_by_its_number_in_a_divided_data_set(server: Path) -> None:
    site = Overview.of(NODES[1:2], [submitted(6, "trial")], server).sites[0]
    assert (site.name, site.run, site.last_round, site.left_out) == ("site-a", "trial", 1, 0)


def test_a_site_without_a_registered_name_is_called_as_it_introduced_itself(server: Path) -> None:
    nodes = [RegisteredNode(11, "", "online", THEN, b"a")]
    assert [site.name for site in Overview.of(nodes, [submitted(7, "first")], server).sites] == ["site-a"]


def test_a_run_tells_its_round_its_score_and_the_time_that_is_left(server: Path) -> None:
    running, over = Overview.of(NODES, [submitted(7, "first"), submitted(6, "trial", "completed")], server).runs
    assert (running.number, running.folder, running.strategy) == ("7", "first", "feddyn")
    assert (running.round, running.rounds, running.metric, running.value) == (3, 10, "accuracy", 0.75)
    assert running.seconds_left == pytest.approx((2 + 2 + 5) / 3 * 7)
    assert (over.state, over.seconds_left) == ("completed", None)


def test_through_a_tunnel_only_the_server_is_heard(tmp_path: Path) -> None:
    overview = Overview.of(NODES, [submitted(7, "first")], tmp_path / "server")
    run = overview.runs[0]
    assert (run.folder, run.strategy, run.rounds, run.round, run.value, run.seconds_left) == (
        "first", "fedavg", 10, None, None, None,
    )  # fmt: skip
    assert overview.sites[0].since == THEN and overview.sites[0].examples is None
    read = json.loads(overview.to_json())
    assert read["sites"][0]["since"] == "2026-11-16T12:00:00+00:00" and read["runs"][0]["round"] is None


def test_a_run_that_has_not_begun_has_no_round(server: Path) -> None:
    assert Overview.of([], [submitted(8, "new", "pending")], server).runs[0].round is None
