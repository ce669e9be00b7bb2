"""The one client class: foreign strategies, wrong models, what it tells and what it never tells."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.supercore.task_identity import TaskIdentity
from torch import nn

from clients import LocalClient, LocalSettings
from fl_config.errors import ConfigError
from fl_protocol.arrays import to_record
from fl_protocol.codec import CONFIG, overridden, pack
from fl_protocol.messages import Introduce, Train
from fl_protocol.replies import ARRAYS, METRICS

X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 0)


def client(**settings: Any) -> LocalClient:
    torch.manual_seed(0)
    made = LocalClient.on_arrays(
        nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4)), X, Y, client_id=3, num_classes=4
    )
    made.settings = LocalSettings(**settings)
    return made


def message(kind: str, arrays: dict[str, Any] | None = None, **config: Any) -> Message:
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
    content = RecordDict({CONFIG: ConfigRecord(config)})
    if arrays is not None:
        content[ARRAYS] = ArrayRecord({name: Array(value) for name, value in arrays.items()})
    return Message(content, 5, kind)


def ordered(kind: str, order: Introduce | Train) -> Message:
    """The same with an order of ours."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
    return Message(pack(order), 5, kind)


def arrays_of(one: LocalClient) -> dict[str, Any]:
    return {name: value.numpy().copy() for name, value in one.flat.model.state_dict().items()}


def test_numpy_client_interface_trains_and_evaluates() -> None:
    one = client(lr=0.3, epochs=20, batch_size=10)
    start = one.get_parameters({})
    before = one.evaluate(start, {})
    arrays, count, metrics = one.fit(start, {})
    after = one.evaluate(arrays, {})
    assert count == 40
    assert after[0] < before[0] * 0.8
    assert metrics["steps"] == 80


def test_same_round_same_bits_and_other_round_other_batches() -> None:
    one = client(lr=0.1, batch_size=7)
    start = one.get_parameters({})
    first, again, later = (one.fit(start, {"server-round": round})[0] for round in (1, 1, 2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, again, strict=True))
    assert any(a.tobytes() != b.tobytes() for a, b in zip(first, later, strict=True))


def test_one_full_batch_step_by_hand() -> None:
    one = client(lr=0.5, batch_size=0, weight_decay=0.1, clip=0.05)
    arrays = arrays_of(one)
    reply = one.answer(message(MessageType.TRAIN, arrays)).content
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    model.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
    nn.functional.cross_entropy(model(torch.from_numpy(X)), torch.from_numpy(Y)).backward()
    norm = torch.sqrt(sum((p.grad**2).sum() for p in model.parameters() if p.grad is not None))
    assert norm > 0.05  # the clip is active, and the decay comes after it
    for name, p in model.named_parameters():
        assert p.grad is not None
        expected = p - 0.5 * (p.grad * 0.05 / (norm + 1e-6) + 0.1 * p)
        np.testing.assert_allclose(reply[ARRAYS][name].numpy(), expected.detach().numpy(), atol=1e-6)  # type: ignore[index]


def test_the_query_tells_scalars_and_never_a_histogram() -> None:
    one = client()
    ask = Introduce(asks={"discrepancy": {"metric": "kl", "target": None}})
    answer = dict(one.answer(ordered(MessageType.QUERY, ask)).content[CONFIG])  # type: ignore[call-overload]
    assert answer["client-id"] == 3
    assert answer["num-examples"] == 40
    share = np.bincount(Y, minlength=4) / 40
    assert answer["discrepancy"] == pytest.approx(float((share[share > 0] * np.log(share[share > 0] * 4)).sum()))
    counts = np.bincount(Y, minlength=4).tolist()
    assert all(not isinstance(value, (list, tuple)) for value in answer.values())
    assert str(counts) not in json.dumps(answer)
    with pytest.raises(ConfigError, match="'histogram'"):
        one.answer(ordered(MessageType.QUERY, Introduce(asks={"histogram": {}})))


def test_a_model_that_does_not_fit_is_a_sentence() -> None:
    one = client()
    arrays = arrays_of(one)
    wrong = {**arrays, "2.bias": np.zeros(5, dtype=np.float32)}
    with pytest.raises(ConfigError, match=r"'2.bias' has the shape \(5,\)"):
        one.answer(message(MessageType.TRAIN, wrong))
    del arrays["2.bias"]
    with pytest.raises(ConfigError, match="'2.bias' is on one side only"):
        one.answer(message(MessageType.TRAIN, arrays))


def test_unknown_objectives_are_refused_by_name() -> None:
    one = client()
    order = Train(to_record(arrays_of(one)), one.settings, objectives=[("magic", {})])
    with pytest.raises(ConfigError, match="'magic'"):
        one.answer(ordered(MessageType.TRAIN, order))


def test_state_is_proposed_and_taken_up_only_when_acknowledged() -> None:
    one = client(lr=0.1)
    arrays = arrays_of(one)

    def train(round: int, acked: int) -> np.ndarray:
        dyn = [("dyn", {"alpha": 0.5})]
        order = Train(to_record(arrays), one.settings, round, objectives=dyn, scalars={"q": 1.0}, acked_round=acked)
        one.answer(ordered(MessageType.TRAIN, order))
        return one.memory.load(round)["h"]

    first = train(1, 0)
    lost = train(2, 1)  # starts from round 1's memory
    assert not np.allclose(lost, first)
    again = train(3, 1)  # round 2 never counted
    assert one.memory.load(2) == {}
    assert np.abs(again - first).max() < np.abs(lost).max() * 2
    fresh = train(4, 0)  # nothing ever counted
    assert not np.allclose(fresh, again)
    assert one.memory.load(1) == {}


def test_a_client_that_has_lost_its_state_says_so(caplog: pytest.LogCaptureFixture) -> None:
    def fit(round: int, acked: int) -> None:
        order = Train(
            ArrayRecord(), one.settings, round, objectives=[("dyn", {})], scalars={"q": 1.0}, acked_round=acked
        )
        one.fit(one.get_parameters({}), dict(pack(order).config_records[CONFIG]))

    one = client(batch_size=10)
    with caplog.at_level("WARNING", "fedloom"):
        fit(1, 0)
        fit(2, 1)
        assert not caplog.records
        one.memory.keep([])  # as if its folder had been deleted
        fit(3, 2)
    assert "client 3 has lost what it remembered of round 2" in caplog.text


def test_settings_of_the_message_win() -> None:
    merged = overridden(LocalSettings(lr=1.0, epochs=3), {"lr": 0.2, "batch-size": 0, "unknown": 1})
    assert (merged.lr, merged.initial_lr, merged.batch_size, merged.epochs) == (0.2, 0.2, 0, 3)


def test_mixed_precision_trains_and_keeps_float32_parameters() -> None:
    one = client(lr=0.2, mixed_precision=True)
    reply = one.answer(message(MessageType.TRAIN, arrays_of(one)))
    assert all(array.dtype == "float32" for array in reply.content[ARRAYS].values())  # type: ignore[union-attr]
    assert np.isfinite(float(reply.content[METRICS]["train-loss"]))  # type: ignore[index,arg-type]


def test_flowers_own_message_without_our_configuration_is_plain_sgd() -> None:
    one = client(lr=0.1)
    arrays = arrays_of(one)
    theirs = one.answer(message(MessageType.TRAIN, arrays, **{"server-round": 1}))
    ours = one.answer(ordered(MessageType.TRAIN, Train(to_record(arrays), one.settings, 1, optimizer=("sgd", {}))))
    assert set(theirs.content) == {ARRAYS, METRICS}
    for name in arrays:
        assert theirs.content[ARRAYS][name].data == ours.content[ARRAYS][name].data  # type: ignore[index]
