"""A message whose arrays are late is looked for soon, and not beyond the end of the round."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from flwr.app import Message, MessageType, RecordDict
from flwr.supercore.inflatable import inflatable_utils
from flwr.supercore.inflatable.inflatable_utils import ObjectPullError, ObjectUnavailableError, pull_objects
from flwr.supercore.task_identity import TaskIdentity

from fl_protocol.flower import wait_for_parts
from fl_strategies.round.exchange import exchange


@pytest.fixture(autouse=True)
def flowers_own() -> Iterator[None]:
    """Leaves Flower as it was."""
    pulls: list[Any] = [inflatable_utils.pull_objects, inflatable_utils.pull_and_inflate_object_from_tree]
    before = [dict(pull.__kwdefaults__) for pull in pulls]
    yield
    for pull, values in zip(pulls, before, strict=True):
        pull.__kwdefaults__.update(values)


def test_an_array_that_is_late_is_found_without_a_pause_of_a_second() -> None:
    wait_for_parts()
    began = time.monotonic()

    def arrives(_: str) -> bytes:
        if time.monotonic() - began < 0.2:
            raise ObjectUnavailableError("late")
        return b"here"

    assert pull_objects(["a"], arrives) == {"a": b"here"}
    assert time.monotonic() - began < 0.9


def test_a_reply_that_never_arrives_whole_does_not_outlast_the_round(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: str) -> bytes:
        raise ObjectUnavailableError("its host died")

    class Announced:
        """A grid on which a reply is announced whose arrays never come, as with a host that dies while it sends."""

        def push_messages(self, messages: Iterable[Message]) -> list[str]:
            return ["sent"]

        def pull_messages(self, _: Iterable[str]) -> list[Message]:
            with pytest.raises(ObjectPullError):
                pull_objects(["a"], never)
            return []

    monkeypatch.setattr(TaskIdentity, "_run_id", 1)
    monkeypatch.setattr(TaskIdentity, "_node_id", 1)
    monkeypatch.setattr(TaskIdentity, "_task_id", 1)
    message = Message(RecordDict(), 2, MessageType.TRAIN)
    grid: Any = Announced()
    began = time.monotonic()
    assert list(exchange(grid, [message], 0.6, threading.Event())) == []
    assert 0.5 < time.monotonic() - began < 2.0
