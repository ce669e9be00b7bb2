"""A model of a trunk, a statistic and a last layer, and what a topology is told of the federation."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from fl_protocol.arrays import to_record
from fl_strategies.parts import PARTS
from fl_strategies.topologies.base import Topology

MODEL = {
    "trunk": np.array([1.0, 2.0], dtype=np.float32),
    "mean": np.array([0.5], dtype=np.float32),
    "fc": np.array([3.0], dtype=np.float32),
}
SENT = to_record(MODEL)


def _trained(named: Iterable[str]) -> list[str]:
    return [name for name in named if name != "mean"]


def opened(topology: Topology) -> Topology:
    assert topology.name in PARTS  # and with it both of its halves are read
    members: Any = SimpleNamespace(head_names=["fc"], trained_names=_trained)
    topology.open(MODEL, members)
    return topology


def goes_to(topology: Topology, client: int, acked: dict[Any, int]) -> list[str]:
    """Names of the arrays that a client gets; the same in training and when it is scored."""
    training, beside = topology.training({}, SENT, acked)(client)
    evaluation, more = topology.evaluation({}, SENT, acked)(client)
    assert list(training) == list(evaluation) and beside == more == {}
    return list(training)
