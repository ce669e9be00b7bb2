"""A client's secrets of one round: fresh every time, kept in its memory, and at one stage only."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.secure.round_secrets import RoundSecrets
from clients.state import FolderMemory, Memory, RecordMemory
from fl_config.errors import ConfigError
from fl_protocol.messages import Peer


def filled(session: str = "s") -> RoundSecrets:
    made = RoundSecrets.fresh(session)
    made.peers, made.place, made.threshold = [Peer("a", "b", "c"), Peer("d", "e", "f")], 1, 2
    made.weights, made.sizes = [0.25, 0.75], [0.1, 0.9]
    return made


@pytest.mark.parametrize("folder", [False, True])
def test_they_come_back_as_they_were_put_aside(folder: bool, tmp_path: Path) -> None:
    memory: Memory = FolderMemory(tmp_path, "site a") if folder else RecordMemory()
    made = filled()
    made.keep(memory, "shared")
    again = RoundSecrets.recall(FolderMemory(tmp_path, "site a") if folder else memory, "s", "shared")
    assert again == made and again.context == made.context
    assert (again.weight, again.size, again.clients) == (0.75, 0.9, 2)


def test_no_two_rounds_share_a_seed() -> None:
    one, other = RoundSecrets.fresh("s"), RoundSecrets.fresh("s")
    assert len({one.sealing, one.masking, one.own, other.sealing, other.masking, other.own}) == 6
    assert len(bytes.fromhex(one.own)) == 31


def test_all_that_was_told_is_in_the_context() -> None:
    made = filled()
    for name, value in (("session", "t"), ("threshold", 1), ("peers", []), ("weights", [1.0]), ("sizes", [1.0])):
        assert filled().model_copy(update={name: value}).context != made.context, name


def test_another_session_stage_or_text_is_a_sentence() -> None:
    memory = RecordMemory()
    with pytest.raises(ConfigError, match="takes no part in"):
        RoundSecrets.recall(memory, "s", "shown")
    filled().keep(memory, "shown")
    with pytest.raises(ConfigError, match="takes no part in"):
        RoundSecrets.recall(memory, "t", "shown")
    with pytest.raises(ConfigError, match="it is at 'shown', not at 'masked'"):
        RoundSecrets.recall(memory, "s", "masked")
    memory.put_aside(b"{}")
    with pytest.raises(ConfigError, match="takes no part in"):
        RoundSecrets.recall(memory, "s", "shown")
