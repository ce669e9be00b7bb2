"""A site, its app or its link breaks: the round goes on without it at once, the record says why, and no process is left."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fl_protocol.flower import RESTARTED
from tests.deploy.federation import SITES, Federation, alive, called, records, tree_of
from tests.deploy.test_federation import RUN

PATIENT: dict[str, Any] = {**RUN, "strategy": "fedavg", "round-timeout": 600, "min-replies": 2, "wait": 120}
GONE = "its host is gone: two of its heartbeats were missed"


def apps_of(federation: Federation, site: str) -> list[int]:
    return [one for one in tree_of(federation.clients[site].pid) if called(one) == "fedloom-client"]


def reasons(lines: list[dict[str, Any]], site: str) -> list[str]:
    return [one["reason"] for line in lines for one in line.get("dropped", []) if one["id"] == site]


def answered(lines: list[dict[str, Any]], site: str) -> bool:
    return any(site in line["cohort"] for line in lines)


def killed_app(federation: Federation, site: str) -> None:
    federation.until(lambda: apps_of(federation, site), "an app of the site's")
    for app in apps_of(federation, site):
        os.kill(app, signal.SIGKILL)


def killed_site(federation: Federation, site: str) -> None:
    """It had no message, was at work, or had just answered: who kills it cannot know, so the caller looks and tries again."""
    whole = tree_of(federation.clients[site].pid)
    plain = Path(sys.executable).name  # python, or python3 where pytest is started as a command
    assert {called(one) for one in whole} >= {"fedloom-site", plain} and len(whole) >= 3
    os.kill(federation.clients[site].pid, signal.SIGKILL)
    federation.clients[site].wait()
    federation.until(lambda: not alive(whole), "the end of everything that the site had started", 60)


def test_a_killed_app_a_killed_site_and_one_that_is_back_at_once(federation: Federation) -> None:
    """None of them costs the others more than two heartbeats, although a round might take ten minutes."""
    folder = federation.submit("faults", {**PATIENT, "rounds": 300, "epochs": 60})
    federation.until(lambda: len(records(folder)) >= 2, "round 1")
    while not any("killed by SIGKILL" in reason for reason in reasons(records(folder), "site-a")):
        killed_app(federation, "site-a")
        seen = len(records(folder))
        federation.until(lambda seen=seen: len(records(folder)) > seen, "the round after the kill")

    while not set(reasons(records(folder), "site-b")) & {GONE, RESTARTED}:
        killed_site(federation, "site-b")
        seen, killed_at = len(records(folder)), time.monotonic()
        federation.start_client("site-b")  # its old life counts as connected, and what it was asked is lost
        federation.until(lambda seen=seen: len(records(folder)) > seen, "the round of the kill", 120)
        assert time.monotonic() - killed_at < 120
        later = slice(seen + 1, None)  # rounds that began after the kill
        federation.until(lambda later=later: answered(records(folder)[later], "site-b"), "an answer of its new life")
    federation.until(lambda: records(folder)[-1]["cohort"] == list(SITES), "a round with all of them")
    federation.stop_last()


def test_a_cut_link_is_missed_after_two_heartbeats_and_mended_soon(federation: Federation) -> None:
    if not federation.network.namespaces:
        pytest.skip("network namespaces cannot be made here, so there is no link to cut")
    folder = federation.submit("cut", {**PATIENT, "rounds": 300, "epochs": 60})
    federation.until(lambda: len(records(folder)) >= 2, "round 1")
    federation.network.set_link("site-c", "down")
    try:
        federation.until(lambda: "site-c" not in records(folder)[-1]["cohort"], "a round without it", 90)
    finally:
        federation.network.set_link("site-c", "up")
    assert reasons(records(folder), "site-c") == [GONE]
    federation.until(lambda: records(folder)[-1]["cohort"] == list(SITES), "a round with all of them")
    federation.stop_last()


def test_a_run_that_fails_says_why_where_it_was_submitted(federation: Federation) -> None:
    config = {**PATIENT, "clients": 9, "wait": 1}
    words = [word for key, value in config.items() for word in (f"--{key}", str(value))]
    said = federation.command(
        "submit", *words, "--dataset", f"npz:{federation.folder / 'server.npz'}", "--out", "failed", "--stream", code=2
    )
    last = said.strip().splitlines()[-1]
    assert last.startswith("fedloom: The run failed: 9 clients are needed, but only 3"), said
    assert "Traceback" not in said and said.count("9 clients are needed") <= 3


def test_a_port_that_is_taken_is_a_sentence(federation: Federation) -> None:
    taken = f"0.0.0.0:{federation.fleet}"
    control = f"127.0.0.1:{federation.control + 1}"
    second = federation.start(
        "server", "second-server", "server", "--keys", "federation", "--fleet", taken, "--control", control
    )
    assert second.wait(60) == 2
    assert f"fedloom: --fleet {taken} cannot be used on this host" in federation.log("second-server")
