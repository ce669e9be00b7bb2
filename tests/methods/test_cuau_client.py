"""What a client does for FedCUAU: passes over trunk and heads, and the measurement before round 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from clients.client import CONFIG, METHOD, Task
from tests.clients.mlp_client import FC, HEAD, SETTINGS, assert_same, client, other_head, received, task


def test_trunk_and_last_head_are_what_plain_training_makes_of_them() -> None:
    plain = client().train(task())
    clustered = client().train(task(cluster=1, head=HEAD, heads={1: other_head(HEAD), 2: other_head(HEAD, 12)}))
    assert_same(clustered.arrays, plain.arrays)
    assert clustered.metrics == plain.metrics
    assert list(clustered.heads) == [1, 2] and all(list(head) == HEAD for head in clustered.heads.values())


def test_a_head_is_trained_on_the_updated_trunk_which_stays_still() -> None:
    start = other_head(HEAD)
    reply = client().train(task(cluster=1, head=HEAD, heads={1: start}))
    for name in HEAD:
        assert (reply.heads[1][name] != start[name]).any()
    # By itself: the same pass from a model that has the updated trunk already.
    alone = client()
    alone._load({**reply.arrays, **start})
    still = {name for name in alone.flat.names if name not in HEAD}
    alone._pass(task(), {}, still, phase=" of head 1")
    after = alone._state_arrays()
    assert_same({name: after[name] for name in HEAD}, reply.heads[1])
    assert_same({name: after[name] for name in still}, {name: reply.arrays[name] for name in still})


def test_prox_pulls_a_head_to_the_head_that_came() -> None:
    start = {name: value + 5 for name, value in other_head(HEAD).items()}
    settings = replace(SETTINGS, momentum=0.0, weight_decay=0.0, lr=0.001)
    # lr * mu = 1: every step starts again from the anchor, so that a head is one gradient step away from it.
    prox = [("prox", {"mu": 1 / settings.lr})]
    reply = client().train(task(settings=settings, objectives=prox, cluster=1, head=HEAD, heads={1: start}))
    for name in HEAD:
        np.testing.assert_allclose(reply.heads[1][name], start[name], atol=0.1)
        np.testing.assert_allclose(reply.arrays[name], received()[name], atol=0.1)


def test_the_measurement_is_the_heads_update_from_the_seeded_model() -> None:
    seeded = received(seed=21)
    one = client(initial=lambda: seeded)
    one.train(task())
    kept = dict(one.memory.load(1))
    reply = one.probe(task(round=0, probe=True))
    assert list(reply.arrays) == FC
    plain = client()
    trained = plain.train(task(arrays=seeded, round=0)).arrays
    for name in FC:
        np.testing.assert_array_equal(reply.arrays[name], trained[name] - seeded[name])
    assert reply.metrics["num-examples"] == 40 and reply.metrics["steps"] == 10
    assert dict(one.memory.load(1)).keys() == kept.keys()
    other = client(initial=lambda: received(seed=22)).probe(task(round=0, probe=True))
    assert other.metrics["initial-checksum"] != reply.metrics["initial-checksum"]


def test_the_measurement_is_asked_for_without_arrays_and_without_objectives() -> None:
    config = ConfigRecord(
        {METHOD: '{"probe": true, "objectives": [["prox", {"mu": 9.0}]]}', "server-round": 0, "lr": 0.1}
    )
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
    message = Message(RecordDict({CONFIG: config}), 5, "train")
    reply = client().answer(message)
    assert sorted(reply.content.array_records["arrays"]) == sorted(FC)
    assert list(reply.content.array_records) == ["arrays"]
    plain = client().probe(Task({}, replace(SETTINGS, lr=0.1), round=0, probe=True))
    np.testing.assert_array_equal(reply.content.array_records["arrays"][FC[0]].numpy(), plain.arrays[FC[0]])


def test_training_without_arrays_is_refused() -> None:
    with pytest.raises(ValueError, match="on one side only"):
        client().train(Task({}, SETTINGS))
