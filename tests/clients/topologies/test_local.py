"""Training alone: a client gives nothing back and goes on from its own model."""

from __future__ import annotations

from flwr.app import ArrayRecord

from clients.topologies.base import PREFIX
from fl_protocol.arrays import to_record
from tests.clients.mlp_client import assert_same, client, order, received


def test_nothing_goes_back_and_everything_is_kept() -> None:
    one = client()
    reply = one.train(order(topology=("local", {})))
    assert reply.arrays == {} and reply.metrics["num-examples"] == 40
    kept = {name.removeprefix(PREFIX): value for name, value in one.memory.load(1).items()}
    assert kept.keys() == received().keys()
    assert_same(kept, client().train(order()).arrays)


def test_two_rounds_alone_are_two_rounds_of_training() -> None:
    one, other = client(), client()
    one.train(order(topology=("local", {})))
    one.train(order(arrays=ArrayRecord(), round=2, topology=("local", {}), acked_round=1))
    first = other.train(order()).arrays
    second = other.train(order(arrays=to_record(first), round=2)).arrays
    assert_same({name: one.memory.load(2)[PREFIX + name] for name in second}, second)
