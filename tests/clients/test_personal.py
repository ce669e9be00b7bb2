"""Private and fixed last layers: what of them is trained, in which pass, and that they stay with the client."""

from __future__ import annotations

import numpy as np
from clients.personal import PREFIX

from tests.clients.mlp_client import FC, SHARED_HEAD, assert_same, client, other_head, received, task


def test_a_fixed_last_layer_is_fixed_in_every_pass() -> None:
    one = client()
    reply = one.train(task(topology="babu", cluster=1, head=SHARED_HEAD, heads={1: other_head(SHARED_HEAD)}))
    assert not set(FC) & (reply.arrays.keys() | reply.heads[1].keys())
    for name in FC:
        np.testing.assert_array_equal(one.memory.load(1)[PREFIX + name], received()[name])


def test_a_private_last_layer_is_trained_in_the_pass_of_the_clients_own_cluster() -> None:
    heads = {1: other_head(SHARED_HEAD), 2: other_head(SHARED_HEAD, 12)}
    first, second, last = client(), client(), client()
    of_first = first.train(task(topology="per", cluster=1, head=SHARED_HEAD, heads=heads))
    of_second = second.train(task(topology="per", cluster=2, head=SHARED_HEAD, heads={2: heads[2]}))
    of_last = last.train(task(topology="per", cluster=3, head=SHARED_HEAD))
    plain = client().train(task(topology="per"))
    fixed = client().train(task(topology="babu"))
    assert_same(of_last.arrays, plain.arrays)  # its own pass is the first: FedPer itself
    assert_same(of_first.arrays, fixed.arrays)  # not its own pass: the private layer stood still
    assert_same(of_second.arrays, fixed.arrays)
    kept = [one.memory.load(1)[PREFIX + FC[0]] for one in (first, second, last)]
    assert all((value != received()[FC[0]]).any() for value in kept)
    assert (of_first.heads[2][SHARED_HEAD[0]] != of_second.heads[2][SHARED_HEAD[0]]).any()
