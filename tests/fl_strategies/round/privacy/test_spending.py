"""What was released is counted per client, kept in a run's state, and in a journal before it happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_config.errors import ConfigError
from fl_strategies.round.privacy.spending import Journal, Ledger


def test_releases_are_counted_and_remembered() -> None:
    ledger = Ledger.read({}, 1.5)
    assert (ledger.noise, ledger.rounds, ledger.most) == (1.5, 0, 0)
    ledger = ledger.after([3, "site-a"]).after([3]).after([])
    again = Ledger.read(ledger.write(), 9.0)
    assert (again.noise, again.rounds, again.most) == (1.5, 3, 2), "the noise of a run is what it began with"
    assert dict(again.times) == {3: 2, "site-a": 1}
    assert ledger.after(["site-a", "site-a"]).most == 2


def test_a_journal_knows_what_was_announced_and_forgets_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "privacy.jsonl"
    journal, ledger = Journal(path), Ledger(2.0)
    assert journal.ledger is None
    for round, clients in ((1, [0, "b"]), (2, ["b"])):
        ledger = ledger.after(clients)
        journal.add(round, ledger, clients)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"round": 3, "noi')
    for _ in range(2):
        found = Journal(path).ledger
        assert found and (found.noise, found.rounds, dict(found.times)) == (2.0, 2, {0: 1, "b": 2})
    assert path.read_bytes() == whole
    path.write_bytes(b'{"round": 1, ')
    assert Journal(path).ledger is None and path.read_bytes() == b""


def test_a_journal_that_was_tampered_with_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "privacy.jsonl"
    path.write_text('{"round": 1, "noise": 1.0, "clients": [1]}\nnonsense\n')
    with pytest.raises(ConfigError, match=r"line 2 cannot be read.*privacy budget"):
        Journal(path)
