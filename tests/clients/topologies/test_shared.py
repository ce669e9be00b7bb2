"""One model for all: everything goes back, nothing is remembered."""

from __future__ import annotations

from clients.topologies import build_topology
from tests.clients.mlp_client import assert_same, client, order, received


def test_the_whole_model_is_trained_and_goes_back() -> None:
    one = client()
    reply = one.train(order(topology=("shared", {})))
    assert list(reply.arrays) == list(received())
    assert all((value != received()[name]).any() for name, value in reply.arrays.items())
    assert one.memory.load(1) == {} and reply.groups == {}
    assert_same(reply.arrays, client().train(order()).arrays)  # it is what a message means that names none


def test_nothing_is_private_and_nothing_stands_still() -> None:
    made = build_topology("shared", {})
    assert made.private(["trunk", "fc"], ["fc"]) == set() and made.still(set()) == set()
