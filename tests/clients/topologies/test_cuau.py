"""Passes over the heads of clusters: what of a private or fixed last layer is trained in which, and that it stays with the client."""

from __future__ import annotations

import numpy as np
import pytest

from clients.topologies import build_topology
from clients.topologies.base import PREFIX
from fl_config.errors import ConfigError
from fl_protocol.types import Arrays
from tests.clients.mlp_client import FC, SHARED_HEAD, assert_same, client, in_cluster, order, other_head, received


def test_a_fixed_last_layer_is_fixed_in_every_pass() -> None:
    one = client()
    reply = one.train(order(topology=in_cluster(1, SHARED_HEAD, "babu"), groups={"1": other_head(SHARED_HEAD)}))
    assert not set(FC) & (reply.arrays.keys() | reply.groups["1"].keys())
    for name in FC:
        np.testing.assert_array_equal(one.memory.load(1)[PREFIX + name], received()[name])


def test_a_private_last_layer_is_trained_in_the_pass_of_the_clients_own_cluster() -> None:
    heads = {"1": other_head(SHARED_HEAD), "2": other_head(SHARED_HEAD, 12)}
    first, second, last = client(), client(), client()
    of_first = first.train(order(topology=in_cluster(1, SHARED_HEAD, "per"), groups=heads))
    of_second = second.train(order(topology=in_cluster(2, SHARED_HEAD, "per"), groups={"2": heads["2"]}))
    of_last = last.train(order(topology=in_cluster(3, SHARED_HEAD, "per")))
    plain = client().train(order(topology=("per", {})))
    fixed = client().train(order(topology=("babu", {})))
    assert_same(of_last.arrays, plain.arrays)  # its own pass is the first: FedPer itself
    assert_same(of_first.arrays, fixed.arrays)  # not its own pass: the private layer stood still
    assert_same(of_second.arrays, fixed.arrays)
    kept = [one.memory.load(1)[PREFIX + FC[0]] for one in (first, second, last)]
    assert all((value != received()[FC[0]]).any() for value in kept)
    assert (of_first.groups["2"][SHARED_HEAD[0]] != of_second.groups["2"][SHARED_HEAD[0]]).any()


def test_one_pass_per_head_in_the_order_of_the_clusters() -> None:
    """Every pass starts from the model after the first one, with the cluster's head in it; a private array is handed on."""
    passes: list[tuple[Arrays, set[str], str]] = []

    def run(start: Arrays, still: set[str], phase: str) -> Arrays:
        passes.append((dict(start), still, phase))
        return {name: value + 1 for name, value in start.items()}

    topology = build_topology("cuau", {"cluster": 2, "head": ["top"], "inner": "per"})
    arrays = {name: np.array([float(number)]) for number, name in enumerate(("trunk", "top", "fc"))}
    groups = {number: {"top": np.array([float(number) * 10])} for number in ("10", "2")}
    beside = topology.further_passes(arrays, groups, {"fc"}, run)
    assert [phase for _, _, phase in passes] == [" of head 2", " of head 10"]
    assert [still for _, still, _ in passes] == [
        {"trunk"},
        {"trunk", "fc"},
    ]  # the own cluster's pass trains the private one
    assert [start["fc"].item() for start, _, _ in passes] == [2, 3] and arrays["fc"].item() == 4
    assert all(start["trunk"].item() == 0 for start, _, _ in passes)
    assert {number: head["top"].item() for number, head in beside.items()} == {"2": 21, "10": 101}
    assert all(list(head) == ["top"] for head in beside.values())


def test_the_first_pass_is_the_clients_own_only_in_the_last_cluster() -> None:
    topology = build_topology("cuau", {"cluster": 2, "head": ["top"]})
    assert topology.first_is_own({"3": {}}) and not topology.first_is_own({"2": {}, "3": {}})


def test_a_topology_inside_that_nobody_knows_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match=r"no client topology 'shard' here; there are .*shared"):
        build_topology("cuau", {"inner": "shard"})
