"""A supernode asks often while there is work and seldom otherwise, and keeps trying where its key still counts as connected."""

from __future__ import annotations

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
