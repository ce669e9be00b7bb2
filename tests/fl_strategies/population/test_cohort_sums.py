"""Sums over a round's cohort: what is on the wire, what comes out, and what happens where too few take part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import Message
from torch import nn

from clients import LocalSettings
from clients.answers import Facts, vector_of
from fl_config.errors import ConfigError
from fl_data import Samples
from fl_models import wrap
from fl_models.flat import FlatModel
from fl_protocol.arrays import record_bytes
from fl_protocol.codec import kind_of
from fl_protocol.fixed_point import from_fixed
from fl_protocol.types import State
from fl_strategies.round.cohort import Cohort
from fl_strategies.round.resources import ServerResources
from fl_strategies.strategy import ComposedStrategy
from tests.fl_strategies.linear_federation import CLASSES, CLIENTS, DATA, FEATURES, Records, initial
from tests.fl_strategies.round.secure.test_secure_sum import SHARES, Wire, app

LOCAL = LocalSettings(lr=0.1, batch_size=8)


def data_of(number: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    y = np.repeat(np.arange(CLASSES), SHARES[number])
    return np.resize(DATA[number][0], (len(y), FEATURES)), y


def part_of(number: int) -> np.ndarray[Any, Any]:
    """What client `number` adds; the features of a linear model are its inputs, whatever its weights."""
    x, y = data_of(number)
    facts = Facts(np.array(SHARES[number]), Samples(x, y), CLASSES, FlatModel(wrap(nn.Linear(FEATURES, CLASSES))))
    return vector_of("class_features", facts)


def strategy(**more: Any) -> tuple[ComposedStrategy, Records, list[Cohort]]:
    target = Samples(data_of(0)[0], None)
    resources = ServerResources(
        lambda: wrap(nn.Linear(FEATURES, CLASSES)), seed=3, device=torch.device("cpu"), target=target
    )
    records, cohorts = Records(), []
    made = ComposedStrategy("fedssa-shares", local=LOCAL, resources=resources, observers=[records], **more)
    learn = made.weave.weighting.customised

    def seen(cohort: Cohort, state: State, server: ServerResources) -> Any:
        cohorts.append(cohort)
        return learn(cohort, state, server)

    made.weave.weighting.customised = seen  # type: ignore[method-assign]
    return made, records, cohorts


def test_the_sums_are_right_and_nobodys_own_are_on_the_wire(tmp_path: Path) -> None:
    grid = Wire(app(tmp_path), CLIENTS, {})
    made, records, cohorts = strategy(min_clients=CLIENTS)
    made.start(grid, initial(), 2)
    parts = [part_of(number) for number in range(CLIENTS)]
    assert [cohort.round for cohort in cohorts] == [1, 2]
    for cohort in cohorts:
        assert cohort.sums["class_features"].tolist() == np.sum(parts, axis=0).tolist()
    exact = np.array([data_of(number)[0][data_of(number)[1] == 0].sum(axis=0) for number in range(CLIENTS)]).sum(axis=0)
    total = from_fixed(cohorts[0].sums["class_features"][CLASSES:]).reshape(CLASSES, FEATURES)
    np.testing.assert_allclose(total[0], exact, atol=1e-4)
    masked_parts = 0
    for client, content, reply in grid.seen:
        own = parts[client]
        for secret in (own, own[:CLASSES], own[CLASSES:], from_fixed(own[CLASSES:])):
            for kind in ("<i8", "<i4", "<f8", "<f4", ">i8"):
                assert secret.astype(kind).tobytes() not in content
        for record in reply.content.config_records.values():
            if "masked" in record:
                masked_parts += 1
                words = np.frombuffer(bytes(record["masked"]), dtype="<u8")  # type: ignore[arg-type]
                assert len(words) == CLASSES * (1 + FEATURES)
                assert (words != own.astype("<u8")).all()
                assert (words > 2**40).all(), "a masked number is as small as a count"
    assert masked_parts == 2 * CLIENTS
    assert sum(records.lines[1]["ssa/weights"]) == pytest.approx(1)
    model, words = record_bytes(initial()), 8 * CLASSES * (1 + FEATURES)
    assert records.lines[1]["bytes_down"] == 2 * CLIENTS * model  # to train, and to sum
    assert records.lines[1]["bytes_up"] == CLIENTS * (model + words)


def test_only_the_cohort_is_asked(tmp_path: Path) -> None:
    grid = Wire(app(tmp_path), CLIENTS, {})
    made, records, cohorts = strategy(min_clients=CLIENTS, fraction_train=0.6)
    made.start(grid, initial(), 1)
    chosen = records.lines[1]["cohort"]
    assert len(chosen) == 3
    assert cohorts[0].sums["class_features"].tolist() == np.sum([part_of(number) for number in chosen], axis=0).tolist()


@pytest.mark.parametrize("options", [{"fraction_train": 0.4}, {"fraction_train": 0.2}])
def test_rounds_of_fewer_than_three_are_refused_before_anybody_trains(tmp_path: Path, options: Any) -> None:
    grid = Wire(app(tmp_path), CLIENTS, {})
    with pytest.raises(
        ConfigError, match=r"'ssa' needs a secure sum over 3 or more clients in every round, but [12] of 5"
    ):
        strategy(min_clients=CLIENTS, **options)[0].start(grid, initial(), 1)
    assert all(reply.metadata.message_type == "query" for _, _, reply in grid.seen)


def test_a_round_that_loses_too_many_goes_on_by_size(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def away(number: int, message: Message) -> bool:
        return number > 1 and kind_of(message.content) == "MaskedSum"

    made, records, cohorts = strategy(min_clients=CLIENTS)
    made.start(Wire(app(tmp_path, away), CLIENTS, {}), initial(), 1)
    assert cohorts[0].sums == {}
    assert "needs a secure sum over 3 or more clients, but 2" in caplog.text
    assert records.lines[1]["dropped"] == []
    assert "ssa/weights" not in records.lines[1]
