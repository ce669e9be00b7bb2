"""FedPer's client: the head is trained and kept, the body goes back."""

from __future__ import annotations

import numpy as np

from clients.topologies.base import PREFIX
from fl_protocol.arrays import to_record
from tests.clients.mlp_client import FC, assert_same, client, order, received


def test_the_head_is_trained_and_stays_and_the_body_goes_back() -> None:
    one = client()
    reply = one.train(order(topology=("per", {})))
    assert list(reply.arrays) == [name for name in received() if name not in FC]
    kept = one.memory.load(1)
    assert set(kept) == {PREFIX + name for name in FC}
    whole = client().train(order()).arrays  # a private head changes nothing about how a first round trains
    assert_same({**reply.arrays, **{name: kept[PREFIX + name] for name in FC}}, whole)


def test_the_next_round_goes_on_from_the_clients_own_head() -> None:
    one = client()
    one.train(order(topology=("per", {})))
    kept = {name: one.memory.load(1)[PREFIX + name].copy() for name in FC}
    body = {name: value for name, value in received(13).items() if name not in FC}
    reply = one.train(order(arrays=to_record(body), round=2, topology=("per", {}), acked_round=1))
    expected = client().train(order(arrays=to_record({**body, **kept}), round=2)).arrays
    assert_same(reply.arrays, {name: expected[name] for name in reply.arrays})
    np.testing.assert_array_equal(one.memory.load(2)[PREFIX + FC[0]], expected[FC[0]])
