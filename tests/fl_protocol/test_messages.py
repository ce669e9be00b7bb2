"""Every message of the server goes there and back, whatever is in it, and no other is understood."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from hypothesis import given
from hypothesis import strategies as st

from fl_config.errors import ConfigError
from fl_protocol.arrays import to_record
from fl_protocol.codec import CONFIG, ORDER, VERSION, pack
from fl_protocol.messages import (
    MESSAGES,
    Evaluate,
    Introduce,
    MaskedSum,
    Masks,
    NoiseShare,
    Peer,
    Probe,
    Setup,
    ShareSecrets,
    ShowKeys,
    Train,
    Unmask,
    read_message,
    setup_in,
)
from fl_protocol.settings import LocalSettings

OWN = LocalSettings(lr=9.0, epochs=9, seed=9)
SETUP = Setup("0123456789abcdef", 256, 0.2)
ARRAYS = to_record({"w": np.array([[1.5, -0.0]], dtype=np.float32), "batches": np.array(3)})
HEAD = to_record({"b": np.array([2.5], dtype=np.float32)})
SETTINGS = LocalSettings(3, 0, 0.25, 0.5, 0.9, 1e-4, 10.0, 7, "crop-flip", True)
EVERY = [
    Introduce(SETUP, {"discrepancy": {"metric": "kl", "target": [0.25, 0.75]}, "initial_loss": {}}),
    MaskedSum("class_counts", "c0ffee", ["00ff", "ff00"], SETUP),
    Probe(SETTINGS, SETUP),
    Train(
        ARRAYS,
        SETTINGS,
        12,
        SETUP,
        objectives=[("prox", {"mu": 0.1}), ("ssg", {"variant": "main", "clip_gate": True})],
        optimizer=("sam", {"rho": 0.05}),
        topology=("cuau", {"cluster": 1, "head": ["w"], "inner": "per"}),
        extra=HEAD,
        groups={"1": HEAD, "2": ARRAYS},
        scalars={"q": 1 / 3},
        report=["initial_loss"],
        acked_round=11,
        saved_round=10,
        masks=Masks("c0ffee", ["", "gAAA="], ["squared_norm"]),
        noise=NoiseShare(0.5, 1.25, 7),
    ),
    ShowKeys("c0ffee", SETUP),
    ShareSecrets("c0ffee", [Peer("00", "11", "22")], 3, [1 / 3, 0.1 + 0.2], [1.0], SETUP),
    Unmask("c0ffee", [0, 2], SETUP),
    Evaluate(ARRAYS, SETTINGS, 12, SETUP, ("babu", {}), 11, 5),
]
numbers = st.floats(allow_nan=False, allow_infinity=False)
values = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | st.text(max_size=8)
parts = st.tuples(st.text(max_size=8), st.dictionaries(st.text(max_size=5), values | st.lists(values, max_size=3)))


def travelled(message: Any) -> RecordDict:
    """Its content as it arrives, through Flower's own bytes."""
    proto = recorddict_to_proto(pack(message))
    return recorddict_from_proto(type(proto).FromString(proto.SerializeToString()))


def test_there_is_an_example_of_every_message() -> None:
    assert {type(message) for message in EVERY} == set(MESSAGES.values())
    for message in EVERY:  # no field is at its default, where a lost one would not show
        kept = {one.name for one in fields(message) if getattr(message, one.name) == one.default}
        assert kept <= ({"round"} if isinstance(message, Probe) else set())


@pytest.mark.parametrize("message", EVERY, ids=lambda message: type(message).__name__)
def test_it_comes_back_as_it_was(message: Any) -> None:
    assert read_message(travelled(message), "train", OWN) == message
    assert setup_in(travelled(message)) == SETUP


@given(
    scalars=st.dictionaries(st.text(max_size=5), numbers, max_size=3),
    objectives=st.lists(parts, max_size=2),
    topology=parts,
    rounds=st.tuples(*[st.integers(0, 2**31)] * 3),
    rates=st.tuples(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300)),
)
def test_any_numbers_and_names_survive_to_the_bit(
    scalars: Any, objectives: Any, topology: Any, rounds: Any, rates: Any
) -> None:
    round, acked, saved = rounds
    settings = LocalSettings(lr=rates[0], initial_lr=rates[1])
    message = Train(ArrayRecord(), settings, round, objectives=objectives, topology=topology, scalars=scalars)
    message.acked_round, message.saved_round = acked, saved
    read = read_message(pack(message), "train", OWN)
    assert read == message
    assert [np.float64(v).tobytes() for v in read.scalars.values()] == [
        np.float64(v).tobytes() for v in scalars.values()
    ]


def test_a_foreign_strategy_means_what_flower_says() -> None:
    content = RecordDict({"arrays": ARRAYS, CONFIG: ConfigRecord({"server-round": 4})})
    assert read_message(content, "train", OWN) == Train(ARRAYS, OWN, 4)
    assert read_message(content, "evaluate", OWN) == Evaluate(ARRAYS, OWN, 4)
    assert read_message(RecordDict(), "query", OWN) == Introduce()
    assert setup_in(content) is None


def test_a_kind_that_this_client_does_not_know_is_a_sentence() -> None:
    order = json.dumps({"version": VERSION, "kind": "Sing"})
    content = RecordDict({CONFIG: ConfigRecord({ORDER: order})})
    with pytest.raises(ConfigError, match="The server sent a message of the kind 'Sing', which this client does not"):
        read_message(content, "train", OWN)


def test_another_version_is_refused_before_a_client_is_built() -> None:
    order = json.dumps({"version": VERSION + 1, "kind": "Train", "setup": {"run": 5, "colour": "red"}})
    with pytest.raises(ConfigError, match=f"speaks version {VERSION + 1} of the protocol"):
        setup_in(RecordDict({CONFIG: ConfigRecord({ORDER: order})}))


@pytest.mark.parametrize("setup", [{"run": "a", "colour": "red"}, {"projection": "wide"}])
def test_an_unknown_or_wrong_key_of_the_setup_is_one_sentence(setup: dict[str, Any]) -> None:
    order = json.dumps({"version": VERSION, "kind": "Introduce", "setup": setup})
    content = RecordDict({CONFIG: ConfigRecord({ORDER: order})})
    for read in (lambda: read_message(content, "query", OWN), lambda: setup_in(content)):
        with pytest.raises(ConfigError) as error:
            read()
        assert "\n" not in str(error.value) and "setup" in str(error.value)
