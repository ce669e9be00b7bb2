"""The server's half of any topology: one shared model, unless a part of it is private to those who have it already."""

from __future__ import annotations

import numpy as np

from clients.topologies.base import ClientTopology
from fl_config.parts import find
from fl_strategies.parts import PARTS
from fl_strategies.topologies.base import Topology
from tests.fl_strategies.topologies.three_arrays import MODEL, SENT, goes_to, opened


def test_the_base_is_one_model_that_remembers_nothing() -> None:
    base = opened(Topology())
    assert base.layout.parameters == ("trunk", "fc") and base.layout.buffers == ["mean"] and not base.layout.private
    assert base.init(MODEL) == {} and base.says({}, 3) == ("shared", {}) and base.groups({}, 3) == {}
    assert base.prepare({}, None, None) == ({}, {})  # type: ignore[arg-type]
    state = {"kept": np.ones(1)}
    assert base.aggregate(state, [], np.ones(0)) == (state, {}) and base.remarks(state, {"round": 1}) == {}
    assert base.served({}, MODEL) is MODEL and base.evaluated({}, {"global": MODEL}) == {"global": MODEL}


def test_clients_share_the_bytes_of_what_is_sent() -> None:
    base = opened(Topology())
    pack = base.training({}, SENT, {0: 3})
    assert pack(0)[0] is SENT is pack(1)[0]
    private = opened(PARTS["per"].half("topology")())
    assert private.training({}, SENT, {0: 3})(0)[0]["trunk"].data is SENT["trunk"].data


def test_private_arrays_go_to_a_client_until_one_of_its_replies_counted() -> None:
    private = opened(PARTS["per"].half("topology")())
    assert goes_to(private, 0, {}) == goes_to(private, 0, {0: 0}) == ["trunk", "mean", "fc"]
    assert goes_to(private, 0, {0: 3}) == ["trunk", "mean"]
    assert goes_to(private, 1, {0: 3}) == ["trunk", "mean", "fc"]


def test_both_halves_of_every_topology_have_one_name_and_agree_on_what_is_private() -> None:
    for name, part in PARTS.items():
        if part.slot == "topology":
            server, client = part.half(Topology.kind), find(ClientTopology.kind, name)
            assert server is not None and server.name == name
            private = client().private(MODEL, ["fc"])
            assert server().private_names(MODEL, ["fc"]) == private and bool(private) == server.private
