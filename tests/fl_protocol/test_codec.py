"""How a dataclass travels: each field at its place, and one sentence for what cannot be read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, RecordDict

from fl_config.errors import ConfigError
from fl_protocol import codec
from fl_protocol.arrays import to_record
from fl_protocol.codec import (
    CONFIG,
    ORDER,
    ROUND,
    VERSION,
    as_keys,
    configuration,
    kind_of,
    overridden,
    pack,
    tell_unread,
    unpack,
)
from fl_protocol.settings import LocalSettings

ONE = to_record({"w": np.array([1.5], dtype=np.float32)})
TWO = to_record({"w": np.array([2.5], dtype=np.float32)})


@dataclass
class Letter:
    arrays: ArrayRecord
    settings: LocalSettings
    subject: str
    round: int = 1
    numbers: dict[str, float] = field(default_factory=dict)
    groups: dict[str, ArrayRecord] = field(default_factory=dict)
    extra: ArrayRecord = field(default_factory=ArrayRecord)


LETTER = Letter(ONE, LocalSettings(lr=0.3, batch_size=7), "spring", 4, {"q": 0.1}, {"1": TWO, "a:b": ONE})


def with_order(**order: Any) -> RecordDict:
    return RecordDict({CONFIG: ConfigRecord({ORDER: json.dumps(order)})})


def test_every_field_is_at_the_place_that_its_type_says() -> None:
    content = pack(LETTER)
    assert set(content) == {"arrays", "groups:1", "groups:a:b", CONFIG}  # empty records do not travel
    assert content["groups:1"] is TWO
    config = dict(content.config_records[CONFIG])
    order = json.loads(str(config.pop(ORDER)))
    assert order == {"version": VERSION, "kind": "Letter", "subject": "spring", "numbers": {"q": 0.1}}
    assert config.pop(ROUND) == 4
    assert (config["lr"], config["batch-size"]) == (0.3, 7) and config == as_keys(LETTER.settings)


def test_what_was_packed_comes_back() -> None:
    assert unpack(Letter, pack(LETTER)) == LETTER


def test_without_our_order_every_field_has_its_default_and_the_client_its_own_settings() -> None:
    @dataclass
    class Note:
        arrays: ArrayRecord
        settings: LocalSettings
        round: int = 1
        subject: str = "none"

    foreign = RecordDict({"arrays": ONE, CONFIG: ConfigRecord({"lr": 0.5, ROUND: 3})})
    own = LocalSettings(lr=0.1, epochs=9)
    assert unpack(Note, foreign, own) == Note(ONE, replace(own, lr=0.5, initial_lr=0.5), 3, "none")
    assert unpack(Note, RecordDict(), own) == Note(ArrayRecord(), own, 1, "none")


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        (
            {"subject": "spring", "colour": "red"},
            "A message of the kind 'Letter' has the key 'colour', which this version of FedLoom does not know.",
        ),
        ({"numbers": {}}, "A message of the kind 'Letter' lacks the key 'subject'."),
        (
            {"subject": "spring", "numbers": {"q": "many"}},
            "A message of the kind 'Letter' has a wrong 'numbers.q': Input should be a valid number",
        ),
    ],
)
def test_an_unknown_a_missing_and_a_wrong_key_are_one_sentence_each(order: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        unpack(Letter, with_order(version=VERSION, kind="Letter", **order))
    assert str(error.value).startswith(sentence) and "\n" not in str(error.value)


@pytest.mark.parametrize(("given", "named"), [({"version": VERSION + 1}, VERSION + 1), ({}, 1)])
def test_another_version_is_one_sentence_that_names_both(given: dict[str, Any], named: int) -> None:
    with pytest.raises(ConfigError) as error:
        kind_of(with_order(kind="Letter", **given))
    assert str(error.value) == (
        f"The server speaks version {named} of the protocol, this client version {VERSION}: install the same FedLoom on both."
    )


@pytest.mark.parametrize("text", ["spring", "[]", '{"version": "new", "kind": "Letter"}'])
def test_what_is_no_order_at_all_is_one_sentence_too(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        kind_of(RecordDict({CONFIG: ConfigRecord({ORDER: text})}))
    assert "\n" not in str(error.value)


def test_the_kind_is_told_only_by_our_order() -> None:
    assert kind_of(pack(LETTER)) == "Letter"
    assert kind_of(RecordDict({CONFIG: ConfigRecord({"lr": 1.0})})) == ""
    assert kind_of(RecordDict()) == "" and configuration(RecordDict({CONFIG: ONE})) == {}


def test_a_learning_rate_alone_is_also_the_initial_one() -> None:
    own = LocalSettings(lr=1.0, initial_lr=2.0, epochs=3)
    assert overridden(own, {"lr": 0.5}) == replace(own, lr=0.5, initial_lr=0.5)
    assert overridden(own, {"lr": 0.5, "initial-lr": 0.7}) == replace(own, lr=0.5, initial_lr=0.7)
    assert overridden(own, {"epochs": 4}) == replace(own, epochs=4)
    assert overridden(own, as_keys(LETTER.settings)) == LETTER.settings


def test_a_key_that_nothing_reads_is_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "_told", set())
    config = {"lr": 0.1, "batch_size": 3, "zzz": 1, ROUND: 2, ORDER: "{}"}
    with caplog.at_level("WARNING", "fedloom"):
        tell_unread(config, "The train_config")
        tell_unread(config, "The train_config")
    assert [record.getMessage() for record in caplog.records] == [
        "The train_config has the key 'batch_size', which nothing here reads; did you mean 'batch-size'?",
        "The train_config has the key 'zzz', which nothing here reads.",
    ]
