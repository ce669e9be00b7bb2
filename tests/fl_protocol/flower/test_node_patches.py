"""A supernode asks often while there is work and seldom otherwise, and keeps trying where its key still counts as connected."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from fl_protocol.flower import node_patches
from fl_protocol.flower.node_patches import FLOWERS_PAUSE, LATEST, NOT_LET_IN, RETURN_PATIENCE, SOONEST


class Clock:
    """The `time` module of somebody who never really waits."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(node_patches, "time", made)
    return made


def test_pauses_grow_with_the_time_since_the_last_work(clock: Clock) -> None:
    pauses = node_patches.Pauses()
    pauses.sleep(FLOWERS_PAUSE)
    assert clock.slept.pop() == SOONEST
    clock.now += 5
    pauses.sleep(FLOWERS_PAUSE)
    assert clock.slept.pop() == pytest.approx(0.51)
    clock.now += 60
    pauses.sleep(FLOWERS_PAUSE)
    assert clock.slept.pop() == LATEST
    pauses.sleep(0.5)  # so long the loop sleeps while a client's app is at work
    assert clock.slept.pop() == SOONEST


class Refusal(grpc.RpcError):
    pass


class Server:
    """A channel to a server that lets a key in after so many refusals."""

    def __init__(self, refusals: int, reason: str = f"error {NOT_LET_IN}") -> None:
        self.refusals, self.reason, self.asked = refusals, reason, 0

    def unary_unary(self, method: str, *_: Any, **__: Any) -> Any:
        def answer(request: str) -> str:
            self.asked += 1
            if self.asked <= self.refusals:
                raise Refusal(self.reason)
            return f"{request} is let in"

        return answer


def test_a_key_that_still_counts_as_connected_is_let_in_later(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    assert node_patches.patient_stub(Server(3)).ActivateNode("the key") == "the key is let in"
    assert clock.slept == [1, 1, 1]
    assert capsys.readouterr().out.count("Trying again") == 1


def test_a_key_that_nobody_registered_is_given_up_after_a_while(clock: Clock) -> None:
    server = Server(1000)
    with pytest.raises(Refusal):
        node_patches.patient_stub(server).ActivateNode("the key")
    assert server.asked == RETURN_PATIENCE + 1


def test_other_refusals_and_a_limit_of_retries_are_heard_at_once(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refusal, match="no such server"):
        node_patches.patient_stub(Server(1, "no such server")).ActivateNode("the key")
    monkeypatch.setattr("sys.argv", ["deploy.supernode", "--max-retries", "1"])
    with pytest.raises(Refusal):
        node_patches.patient_stub(Server(1)).ActivateNode("the key")
    assert not clock.slept


def test_signs_of_life_go_on_after_an_answer_that_nobody_expected(capsys: pytest.CaptureFixture[str]) -> None:
    answers: list[Any] = [Refusal("database is locked"), RuntimeError("who are you?"), True]

    def beat() -> bool:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)

    sender = node_patches.SteadyHeartbeat(beat)
    assert [sender.heartbeat_fn() for _ in range(3)] == [False, False, True]
    assert capsys.readouterr().out.count("A sign of life was not accepted") == 2


class Message:
    """As a supernode keeps one: of run 1, with this number, a reply to that one."""

    def __init__(self, number: str, reply_to: str = "") -> None:
        self.metadata = SimpleNamespace(run_id=1, message_id=number, reply_to_message_id=reply_to)


class State:
    """What a supernode knows, as far as an app that fails concerns it."""

    def __init__(self, *messages: Message) -> None:
        self.msg_store = {one.metadata.message_id: SimpleNamespace(message=one) for one in messages}
        self.lock_msg_store = threading.RLock()
        self.stored: list[tuple[str, str]] = []

    def get_tasks(self, task_ids: list[int]) -> list[Any]:
        return [SimpleNamespace(run_id=1)]

    def _store_generated_message(self, reply: Any) -> None:
        pass

    def store_message(self, reply: Any) -> None:
        self.stored.append((reply.metadata.reply_to_message_id, reply.error.reason))


@pytest.mark.parametrize(("status", "left"), [("failed", [("asked", "It was killed.")]), ("completed", [])])
def test_an_app_that_failed_without_an_answer_is_the_answer(
    status: str, left: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(error: Any, reply_to: Message) -> Any:
        metadata = SimpleNamespace(reply_to_message_id=reply_to.metadata.message_id)
        return SimpleNamespace(error=error, metadata=metadata, object_id="a reply")

    monkeypatch.setattr(node_patches, "Message", reply)
    state = State(Message("asked"), Message("answered"), Message("its answer", "answered"))
    assert node_patches.finish_and_answer(state, lambda *_: True, 1, status, "It was killed.")
    assert state.stored == left


@pytest.mark.parametrize("insecure", [True, False])
def test_the_connection_is_watched(insecure: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: dict[str, Any] = {}
    for name in ("secure_channel", "insecure_channel"):
        monkeypatch.setattr(
            node_patches.grpc,
            name,
            lambda *words, options, name=name: opened.update({name: dict(options)}) or "channel",
        )
    monkeypatch.setattr(node_patches.grpc, "intercept_channel", lambda channel, *own: (channel, own))
    assert node_patches.watched_channel("h:1", insecure, None, 7, ["theirs"]) == ("channel", ("theirs",))
    (options,) = opened.values()
    assert opened.keys() == {"insecure_channel" if insecure else "secure_channel"}
    assert options["grpc.max_send_message_length"] == 7 and options["grpc.keepalive_time_ms"] == 10_000
