"""FedBABU's client: the head keeps its initial values while the body is trained."""

from __future__ import annotations

import numpy as np

from clients.topologies import build_topology
from clients.topologies.base import PREFIX
from fl_protocol.messages import Evaluate
from tests.clients.mlp_client import FC, SETTINGS, client, order, received


def test_the_body_is_trained_around_a_head_that_stands_still() -> None:
    one = client()
    reply = one.train(order(topology=("babu", {})))
    for name in FC:
        np.testing.assert_array_equal(one.memory.load(1)[PREFIX + name], received()[name])
    assert not set(FC) & reply.arrays.keys()
    assert all((value != received()[name]).any() for name, value in reply.arrays.items())
    free = client().train(order(topology=("per", {})))
    assert any((free.arrays[name] != value).any() for name, value in reply.arrays.items())


def test_it_is_fixed_in_the_clients_own_pass_too() -> None:
    made = build_topology("babu", {})
    assert made.private(["trunk", "fc"], ["fc"]) == {"fc"}
    assert made.still({"fc"}) == made.still({"fc"}, own=False) == {"fc"}


def test_fine_tuning_before_the_score_trains_the_head_as_well() -> None:
    one = client()
    arrays = order().arrays
    scored = one.score(Evaluate(arrays, SETTINGS, topology=("babu", {}), personal_epochs=1))
    assert scored.num_examples == 40 and np.isfinite(scored.loss)
    assert (one.flat.vector()[-3:] != received()["head.bias"]).any()
