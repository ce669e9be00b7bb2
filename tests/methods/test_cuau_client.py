"""What a client does for FedCUAU: passes over trunk and heads, and the measurement before round 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flwr.app import ArrayRecord, Message
from flwr.supercore.task_identity import TaskIdentity

from clients.model_arrays import arrays_of, load_arrays
from fl_config.errors import ConfigError
from fl_protocol.arrays import to_record
from fl_protocol.codec import CONFIG, ORDER, pack
from fl_protocol.messages import Probe, Train
from tests.clients.mlp_client import (
    FC,
    HEAD,
    SETTINGS,
    assert_same,
    client,
    in_cluster,
    order,
    other_head,
    received,
)


def test_trunk_and_last_head_are_what_plain_training_makes_of_them() -> None:
    plain = client().train(order())
    heads = {"1": other_head(HEAD), "2": other_head(HEAD, 12)}
    clustered = client().train(order(topology=in_cluster(1, HEAD), groups=heads))
    assert_same(clustered.arrays, plain.arrays)
    assert clustered.metrics == plain.metrics
    assert list(clustered.groups) == ["1", "2"] and all(list(head) == HEAD for head in clustered.groups.values())


def test_a_head_is_trained_on_the_updated_trunk_which_stays_still() -> None:
    start = other_head(HEAD)
    reply = client().train(order(topology=in_cluster(1, HEAD), groups={"1": start}))
    for name in HEAD:
        assert (reply.groups["1"][name] != start[name]).any()
    # By itself: the same pass from a model that has the updated trunk already.
    alone = client()
    load_arrays(alone.flat, {**reply.arrays, **start}, 0)
    still = {name for name in alone.flat.names if name not in HEAD}
    alone._pass(order(), {}, still, phase=" of head 1")
    after = arrays_of(alone.flat)
    assert_same({name: after[name] for name in HEAD}, reply.groups["1"])
    assert_same({name: after[name] for name in still}, {name: reply.arrays[name] for name in still})


def test_prox_pulls_a_head_to_the_head_that_came() -> None:
    start = {name: value + 5 for name, value in other_head(HEAD).items()}
    settings = replace(SETTINGS, momentum=0.0, weight_decay=0.0, lr=0.001)
    # lr * mu = 1: every step starts again from the anchor, so that a head is one gradient step away from it.
    prox = [("prox", {"mu": 1 / settings.lr})]
    one = in_cluster(1, HEAD)
    reply = client().train(order(settings=settings, objectives=prox, topology=one, groups={"1": start}))
    for name in HEAD:
        np.testing.assert_allclose(reply.groups["1"][name], start[name], atol=0.1)
        np.testing.assert_allclose(reply.arrays[name], received()[name], atol=0.1)


def test_the_measurement_is_the_heads_update_from_the_seeded_model() -> None:
    seeded = received(seed=21)
    one = client(initial=lambda: seeded)
    one.train(order())
    kept = dict(one.memory.load(1))
    reply = one.probe(Probe(SETTINGS))
    assert list(reply.update) == FC
    plain = client()
    trained = plain.train(order(arrays=to_record(seeded), round=0)).arrays
    for name in FC:
        np.testing.assert_array_equal(reply.update[name], trained[name] - seeded[name])
    assert reply.metrics["num-examples"] == 40 and reply.metrics["steps"] == 10
    assert dict(one.memory.load(1)).keys() == kept.keys()
    other = client(initial=lambda: received(seed=22)).probe(Probe(SETTINGS))
    assert other.metrics["initial-checksum"] != reply.metrics["initial-checksum"]


def test_the_measurement_is_asked_for_without_arrays_and_without_objectives() -> None:
    content = pack(Probe(replace(SETTINGS, lr=0.1)))
    assert list(content) == [CONFIG] and "objectives" not in str(content.config_records[CONFIG][ORDER])
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
    reply = client().answer(Message(content, 5, "train"))
    assert sorted(reply.content.array_records["arrays"]) == sorted(FC)
    assert list(reply.content.array_records) == ["arrays"]
    plain = client().probe(Probe(replace(SETTINGS, lr=0.1)))
    np.testing.assert_array_equal(reply.content.array_records["arrays"][FC[0]].numpy(), plain.update[FC[0]])


def test_training_without_arrays_is_refused() -> None:
    with pytest.raises(ConfigError, match="on one side only"):
        client().train(Train(ArrayRecord(), SETTINGS))
