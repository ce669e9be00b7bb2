"""A client with a small network on made-up data, and the orders that it is given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from clients import LocalClient, LocalSettings
from clients.state import RecordMemory
from fl_data import Samples
from fl_models import build
from fl_protocol.arrays import to_record
from fl_protocol.messages import Train
from fl_protocol.types import Arrays

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


def order(**more: Any) -> Train:
    """What the server sends; `groups` may be given as plain arrays."""
    groups = {name: to_record(arrays) for name, arrays in more.pop("groups", {}).items()}
    return replace(Train(to_record(received()), SETTINGS), groups=groups, **more)


def in_cluster(number: int, head: list[str], inner: str = "shared") -> tuple[str, dict[str, Any]]:
    """What the server says of the topology to a client of this cluster."""
    return "cuau", {"cluster": number, "head": head, "inner": inner}


def assert_same(a: Arrays, b: Arrays) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name], err_msg=name)
