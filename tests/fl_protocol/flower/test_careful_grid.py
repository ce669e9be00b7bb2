"""One site cannot hold up the others by a reply that does not come, nor end the run by one that cannot be read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from flwr.app import ArrayRecord, Message, MessageType, RecordDict
from flwr.app.message import make_message
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree

from fl_protocol.flower import ErrorCode, begin_run, careful_grid, set_message_id, set_sender
from fl_protocol.flower.careful_grid import INCOMPLETE, UNREADABLE, CarefulGrid


class Link:
    """The superlink's side: replies that were announced, and what is there of them."""

    def __init__(self) -> None:
        self.announced: dict[str, tuple[str, Any]] = {}
        self.objects: dict[str, bytes] = {}
        self.lost: set[str] = set()
        self.asked: list[set[str]] = []

    def PullMessages(self, request: Any) -> Any:
        wanted = set(request.message_ids)
        self.asked.append(wanted)
        came = [(number, *self.announced.pop(number)) for number in sorted(wanted & self.announced.keys())]
        told = [
            SimpleNamespace(metadata=SimpleNamespace(reply_to_message_id=number, message_id=own))
            for number, own, _ in came
        ]
        return SimpleNamespace(messages_list=told, message_object_trees=[tree for _, _, tree in came])

    def PullObject(self, request: Any) -> Any:
        content = self.objects.get(request.object_id)
        return SimpleNamespace(
            object_found=request.object_id not in self.lost,
            object_available=content is not None,
            object_content=content,
        )

    def ConfirmMessageReceived(self, request: Any) -> None:
        pass


@pytest.fixture
def link() -> Link:
    return Link()


@pytest.fixture
def grid(link: Link, monkeypatch: pytest.MonkeyPatch) -> Any:
    made: Any = CarefulGrid(token="a token")
    made._run = begin_run(7)
    monkeypatch.setattr(CarefulGrid, "_runtime_client", link)
    monkeypatch.setattr(CarefulGrid, "get_node_ids", lambda self: [11, 12])
    monkeypatch.setattr(careful_grid, "LOOK", 0.0)
    made.asked = {"to-11": 11, "to-12": 12, "to-13": 13}
    return made


def answered(link: Link, number: str, sender: int, there: bool = True) -> dict[str, bytes]:
    """A site announces a reply to that message; returns its parts, which are there already, or are not."""
    asked = Message(RecordDict(), sender, MessageType.TRAIN)
    set_message_id(asked, number)
    reply = Message(RecordDict({"arrays": ArrayRecord()}), reply_to=asked)
    set_sender(reply, sender)
    parts = {name: part.deflate() for name, part in get_all_nested_objects(reply).items()}
    link.announced[number] = (reply.object_id, get_object_tree(reply))
    link.objects |= parts if there else {}
    return parts


def test_a_reply_whose_parts_are_late_does_not_hold_up_another(grid: Any, link: Link) -> None:
    late = answered(link, "to-11", 11, there=False)
    answered(link, "to-12", 12)
    (first,) = grid.pull_messages({"to-11", "to-12"})
    assert first.metadata.reply_to_message_id == "to-12"
    assert list(grid.pull_messages({"to-11"})) == []
    assert link.asked == [{"to-11", "to-12"}], "a reply that was announced is asked for again"
    link.objects |= late
    (second,) = grid.pull_messages({"to-11"})
    assert (second.metadata.reply_to_message_id, second.has_error()) == ("to-11", False)
    assert not grid.arriving and grid.asked == {"to-13": 13}


def test_who_goes_away_in_the_midst_of_sending_is_given_up(grid: Any, link: Link) -> None:
    answered(link, "to-11", 11, there=False)
    answered(link, "to-13", 13, there=False)
    (lost,) = grid.pull_messages({"to-11", "to-13"})
    assert (lost.error.code, lost.error.reason) == (ErrorCode.NODE_UNAVAILABLE, INCOMPLETE)
    assert (lost.metadata.reply_to_message_id, lost.metadata.src_node_id) == ("to-13", 13)
    link.lost = set(grid.arriving["to-11"].objects)
    (expired,) = grid.pull_messages({"to-11"})
    assert expired.error.code == ErrorCode.MESSAGE_UNAVAILABLE


def test_what_cannot_be_read_is_an_error_of_the_site(grid: Any, link: Link) -> None:
    link.announced["to-11"] = ("rubbish", ObjectTree(object_id="rubbish"))
    link.objects["rubbish"] = b"\x00\xff not an object"
    answered(link, "to-12", 12)
    link.announced["to-13"] = link.announced["to-12"]  # a reply to another's message
    del link.announced["to-12"]
    wrong = {reply.metadata.src_node_id: reply.error.reason for reply in grid.pull_messages({"to-11", "to-13"})}
    assert wrong.keys() == {11, 13} and all(UNREADABLE in reason for reason in wrong.values())


def test_a_reply_counts_for_the_site_that_was_asked(grid: Any, link: Link) -> None:
    answered(link, "to-11", 12)  # it says that another has sent it
    (reply,) = grid.pull_messages({"to-11"})
    assert reply.metadata.src_node_id == 11 and not reply.has_error()


def test_what_nobody_waits_for_is_forgotten(grid: Any, link: Link) -> None:
    answered(link, "to-11", 11, there=False)
    assert list(grid.pull_messages({"to-11"})) == []
    grid.abandon({"to-11", "to-12"})
    assert not grid.arriving and grid.asked == {"to-13": 13}


def test_who_was_asked_is_noted_when_sending(grid: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(careful_grid.HttpGrid, "push_messages", lambda self, messages: ["a", ""])
    sent = [
        make_message(metadata=Message(RecordDict(), node, MessageType.TRAIN).metadata, content=RecordDict())
        for node in (4, 5)
    ]
    assert grid.push_messages(sent) == ["a", ""]
    assert grid.asked["a"] == 4 and "" not in grid.asked
