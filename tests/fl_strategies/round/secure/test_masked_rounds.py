"""Whole rounds under masks: the same model as without, whoever drops out when, and no sum below the threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch import nn

from fl_config.errors import ConfigError
from fl_protocol.arrays import to_record
from fl_protocol.fixed_point import FINE, from_fixed, to_fixed
from fl_protocol.messages import ShareSecrets, ShowKeys, Train, Unmask
from fl_strategies.round.secure.masked_rounds import MaskedRound
from fl_strategies.strategy import ComposedStrategy
from tests.fl_strategies.linear_federation import CLASSES, CLIENTS, DATA, FEATURES
from tests.fl_strategies.round.secure.masked_federation import Added, overheard, start

DIM = FEATURES * CLASSES + CLASSES
SIZES = np.array([len(y) for _, y in DATA], dtype=float)
ERROR = 2.0**-33  # of one client's number, as docs/privacy.md states it


def round_of(made: ComposedStrategy) -> MaskedRound:
    last = made._round
    assert isinstance(last, MaskedRound)
    return last


def summed(seen: Added, clients: list[int], round: int = 1) -> np.ndarray[Any, Any]:
    """The sum in fixed point without masks, as real numbers."""
    return from_fixed(np.sum([to_fixed(seen[round, client], FINE) for client in clients], axis=0), FINE)


@pytest.mark.parametrize("strategy", ["fedavg", "feddisco", "fedavg+uniform", "fedavgm", "fedadam", "fedexp", "moon"])
def test_masks_change_a_model_by_no_more_than_the_rounding(strategy: str) -> None:
    rounds = 3
    masked, records, _ = start(strategy, rounds=rounds)
    plain, expected, _ = start(strategy, rounds=rounds, secure_aggregation=False)
    assert masked.state is not None and plain.state is not None
    allowed = rounds * (CLIENTS * ERROR + 2.0**-23)  # and the last bit of a float32 number below 2
    np.testing.assert_allclose(masked.state.omega, plain.state.omega, rtol=0, atol=allowed)
    assert not np.array_equal(masked.state.omega, np.zeros(DIM))
    for ours, theirs in zip(records.lines[1:], expected.lines[1:], strict=True):
        assert ours["train/loss"] == pytest.approx(theirs["train/loss"], abs=1e-6)
        for key in ("cohort", "weights", "dropped", "disco/discrepancy", "disco/effective_clients"):
            assert ours.get(key) == theirs.get(key), key
        assert ours.get("exp/step_size") == pytest.approx(theirs.get("exp/step_size"), abs=1e-6)
        assert (ours["secure/agreed"], ours["secure/survived"], ours["secure/threshold"]) == (5, 5, 4)
        assert ours["secure/revealed"] == 4, "the server asks for more shares than it needs"


def test_the_sum_under_masks_is_the_sum_without_and_off_by_what_is_stated() -> None:
    with overheard() as seen:
        made, _, _ = start(rounds=2)
    last = round_of(made)
    assert last.update.tolist() == summed(seen, list(range(CLIENTS)), 2)[:DIM].tolist()
    exact = np.sum([seen[2, client] for client in range(CLIENTS)], axis=0)[:DIM]
    assert 0 < np.abs(last.update - exact).max() <= CLIENTS * ERROR
    assert last.weights.tolist() == (SIZES / SIZES.sum()).tolist()


@pytest.mark.parametrize("kind", [ShowKeys, ShareSecrets, Train, Unmask])
@pytest.mark.parametrize("lost", [0, 3])
def test_a_client_may_drop_out_at_any_step(kind: type[Any], lost: int) -> None:
    def away(number: int, order: Any) -> bool:
        return number == lost and isinstance(order, kind)

    with overheard() as seen:
        made, records, _ = start(away=away)
    left = [client for client in range(CLIENTS) if client != lost or kind is Unmask]
    line = records.lines[1]
    assert line["cohort"] == left
    assert [one["id"] for one in line["dropped"]] == [client for client in range(CLIENTS) if client not in left]
    assert all("away" in one["reason"] for one in line["dropped"])
    assert line["secure/survived"] == len(left)
    share = SIZES / (SIZES if kind is not ShowKeys else SIZES[left]).sum()  # weighed when the keys were there
    expected = summed(seen, left)[:DIM] / (1.0 if len(left) == CLIENTS or kind is ShowKeys else share[left].sum())
    assert round_of(made).update.tolist() == expected.tolist()
    assert np.abs(line["weights"] - SIZES[left] / SIZES[left].sum()).max() < 1e-15


@pytest.mark.parametrize("kind", [ShowKeys, ShareSecrets, Train, Unmask])
def test_below_the_threshold_there_is_nothing(kind: type[Any], caplog: pytest.LogCaptureFixture) -> None:
    """Of five clients four are needed."""

    def away(number: int, order: Any) -> bool:
        return number in (1, 4) and isinstance(order, kind)

    made, records, _ = start(away=away)
    assert made.state is not None and not made.state.omega.any(), "the model moved"
    line = records.lines[1]
    assert (line["cohort"], line["weights"]) == ([], [])
    assert "4 are needed" in line["secure/failed"] and line["secure/failed"] in caplog.text
    last = round_of(made)
    assert last.update.size == 0 and not last.usable


def test_a_round_after_one_that_failed_is_as_any_other() -> None:
    broken = [True]

    def away(number: int, order: Any) -> bool:
        return broken[0] and isinstance(order, Unmask) and number > 1

    made, records, _ = start(away=away)
    assert "2 clients helped to unmask" in records.lines[1]["secure/failed"]
    broken[0] = False
    made, records, _ = start(away=away, rounds=2, state=made.state)
    assert [(line["round"], line["cohort"]) for line in records.lines] == [(2, [0, 1, 2, 3, 4])]


class Normed(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.BatchNorm1d(FEATURES), nn.Linear(FEATURES, CLASSES))


def test_statistics_of_batches_go_with_the_model() -> None:
    arrays = to_record({name: value.numpy() for name, value in Normed().state_dict().items()})
    masked, _, _ = start(arrays=arrays, model=Normed, rounds=2)
    plain, _, _ = start(arrays=arrays, model=Normed, rounds=2, secure_aggregation=False)
    assert masked.state is not None and plain.state is not None
    assert masked.state.buffers.keys() == plain.state.buffers.keys() == {
        "0.running_mean", "0.running_var", "0.num_batches_tracked",
    }  # fmt: skip
    for name in ("0.running_mean", "0.running_var"):
        np.testing.assert_allclose(masked.state.buffers[name], plain.state.buffers[name], atol=1e-6)
        assert masked.state.buffers[name].dtype == np.float32
    counted = masked.state.buffers["0.num_batches_tracked"]
    assert counted.dtype == np.int64 and 0 < counted <= plain.state.buffers["0.num_batches_tracked"]


def test_few_of_many_and_spares_take_part() -> None:
    _, records, _ = start(rounds=4, fraction_train=0.6)
    assert all(len(line["cohort"]) == 3 and line["secure/threshold"] == 3 for line in records.lines[1:])
    assert len({tuple(line["cohort"]) for line in records.lines[1:]}) > 1
    _, records, _ = start(rounds=2, fraction_train=0.6, over_sample=0.34)
    for line in records.lines[1:]:
        assert (line["secure/agreed"], line["secure/survived"], len(line["cohort"])) == (5, 4, 4)
        assert [one["reason"] for one in line["dropped"]] == ["enough others were faster"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"max_update_norm": 1.0}, "--max-update-norm"),
        ({"score": ("server", "cohort")}, "--score cohort"),
        ({"secure_threshold": 0.5}, "secure_threshold is a share above 0.5"),
    ],
)
def test_what_needs_more_than_the_sum_is_refused(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        start(**more)
