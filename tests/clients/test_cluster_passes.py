"""What a client does for FedCUAU: passes over trunk and heads, frozen parts, private layers, the measurement before round 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity
from torch import nn

from clients import LocalClient, LocalSettings
from clients.client import CONFIG, METHOD, Arrays, Task
from clients.freezing import frozen
from clients.personal import PREFIX
from clients.state import RecordMemory
from fl_data import Samples
from fl_models import build
from fl_models.flat import FlatModel

torch.set_num_threads(1)
RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(40, 6)).astype(np.float32), np.arange(40) % 3
SETTINGS = LocalSettings(epochs=2, batch_size=8, lr=0.1, momentum=0.9, weight_decay=0.01, seed=4)
FC = ["head.weight", "head.bias"]
HEAD = ["body.fc2.weight", "body.fc2.bias", *FC]
SHARED_HEAD = HEAD[:2]


def client(**more: Any) -> LocalClient:
    model = build("mlp:8,5", (6,), 3, seed=2)
    return LocalClient(model, Samples(X, Y), 3, client_id=0, memory=RecordMemory(), settings=SETTINGS, **more)


def received(seed: int = 9) -> Arrays:
    return {name: value.numpy() for name, value in build("mlp:8,5", (6,), 3, seed=seed).state_dict().items()}


def other_head(names: list[str], seed: int = 11) -> Arrays:
    return {name: value for name, value in received(seed).items() if name in names}


def task(**more: Any) -> Task:
    return replace(Task(received(), SETTINGS), **more)


def assert_same(a: Arrays, b: Arrays) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name], err_msg=name)


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


def test_a_frozen_trunk_keeps_its_statistics_and_gets_no_gradients() -> None:
    flat = FlatModel(build("resnet20:bn", (3, 8, 8), 3, seed=0))
    trainable = flat.mask(flat.model.default_trunk_end).float()
    before = {name: value.clone() for name, value in flat.model.state_dict().items()}
    x = torch.randn(4, 3, 8, 8)
    with frozen(flat, trainable):
        flat.zero_grad()
        flat.model(x).sum().backward()
        assert flat.grad[trainable == 0].abs().max() == 0
        assert flat.grad[trainable == 1].abs().max() > 0
    moved = {name for name, value in flat.model.state_dict().items() if not torch.equal(value, before[name])}
    assert moved and all(name.startswith("body.layer3.") for name in moved)
    assert flat.model.training and all(m.training for m in flat.model.modules())
    assert all(p.requires_grad for p in flat.model.parameters())


def test_a_module_without_parameters_is_frozen_with_the_one_before_it() -> None:
    layers = nn.Sequential(nn.Linear(6, 4), nn.Dropout(0.5), nn.Linear(4, 3), nn.Dropout(0.5))
    one = LocalClient(layers, Samples(X, Y), 3)
    trainable = one.flat.mask(["2.weight", "2.bias"]).float()
    with frozen(one.flat, trainable):
        assert [layer.training for layer in layers] == [False, False, True, True]


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
