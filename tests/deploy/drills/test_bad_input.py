"""Rubbish from a registered site, from a stranger and from no peer at all: the server goes on, and nothing is granted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.drills.bad_input import UNANSWERED, bombard, megabytes, peers, raw
from tests.deploy.federation import Federation


@pytest.fixture
def loopback(tmp_path: Path) -> Iterator[Federation]:
    """A server of its own, whose memory nobody else uses."""
    made = Federation(tmp_path, namespaces=False)
    try:
        made.start_server()
        yield made
    finally:
        made.end()


def test_rubbish_does_not_disturb_a_server(loopback: Federation) -> None:
    rng = random.Random(0)
    known, unknown, keyless, address = peers(loopback, "peer")
    known.activate()
    try:
        for peer in (known, unknown, keyless):
            bombard(peer, 100, rng)
        before = megabytes(loopback.server.pid)
        answers = {
            title: bombard(peer, 150, rng)
            for title, peer in (("known", known), ("unknown", unknown), ("none", keyless))
        }
        raw(address, 100, rng)
    finally:
        known.deactivate()
    assert loopback.server.poll() is None, loopback.log("server")[-3000:]
    assert not answers["unknown"]["OK"] and not answers["none"]["OK"], "a stranger's request was granted"
    assert not any(came[status] for came in answers.values() for status in UNANSWERED), answers
    assert megabytes(loopback.server.pid) < before * 1.1 + 20
    loopback.command("status")  # it answers
