"""FedDisco's weights: reference numbers of the authors' function, degenerate cases and properties."""

from __future__ import annotations

import logging
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fl_config.errors import ConfigError
from fl_protocol.types import ClientId
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.resources import ServerResources
from fl_strategies.weighting.disco import Disco, DiscoParams, disco_weights, discrepancy

COUNTS = [[50, 50, 0, 0], [25, 25, 25, 25], [10, 0, 90, 100], [100, 5, 5, 0]]
SIZES = [sum(row) for row in COUNTS]
KL = [discrepancy(row) for row in COUNTS]
REFERENCE = [0.157248, 0.328976, 0.415383, 0.098393]
NO_SERVER = cast(ServerResources, None)

clients = st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 3)), min_size=1, max_size=20)


def cohort_of(ids: list[ClientId], population: dict[ClientId, int], gaps: dict[ClientId, float]) -> Cohort:
    return Cohort(
        round=3,
        ids=ids,
        sizes=np.array([population[i] for i in ids], dtype=np.float64),
        updates=np.zeros((len(ids), 2), dtype=np.float32),
        population=Population(population),
        answers={client: {"discrepancy": gap} for client, gap in gaps.items()},
    )


def disco(**options: Any) -> Disco:
    return Disco(DiscoParams(**options))


def test_reference_numbers() -> None:
    np.testing.assert_allclose(np.array(KL) / sum(KL), [0.309110, 0, 0.236624, 0.454266], atol=5e-7)
    np.testing.assert_allclose(disco_weights(SIZES, KL, a=0.5, b=0.1), REFERENCE, atol=5e-7)


def test_without_discrepancy_only_the_offset_remains() -> None:
    share = np.array(SIZES) / sum(SIZES)
    np.testing.assert_allclose(disco_weights(SIZES, KL, a=0, b=0.1), (share + 0.1) / (1 + 4 * 0.1), atol=1e-15)
    np.testing.assert_allclose(disco_weights(SIZES, [0, 0, 0, 0], a=0.5, b=0.1), (share + 0.1) / 1.4, atol=1e-15)
    np.testing.assert_allclose(disco_weights(SIZES, KL, a=0, b=0), share, atol=1e-15)


def test_l2_is_not_normalised_unless_asked() -> None:
    # sizes 1:1, d = (0, 0.5): raw (0.6, 0.6 - 0.25) -> normalised by 0.95; with d / sum d = (0, 1): (0.6, 0.1) / 0.7
    np.testing.assert_allclose(disco_weights([5, 5], [0, 0.5], metric="l2"), [0.6 / 0.95, 0.35 / 0.95])
    np.testing.assert_allclose(disco_weights([5, 5], [0, 0.5], metric="l2", normalise="always"), [0.6 / 0.7, 0.1 / 0.7])
    np.testing.assert_allclose(
        disco_weights([5, 5], [0, 0.5], metric="kl", normalise="never"), [0.6 / 0.95, 0.35 / 0.95]
    )
    np.testing.assert_allclose(disco_weights([5, 5], [0, 0.5], metric="kl"), [0.6 / 0.7, 0.1 / 0.7])


def test_exact_zero_is_kept() -> None:
    weights = disco_weights([10, 10, 10], [0, 0, 4.0], a=0.5, b=0.1)  # 1/3 - 0.5 + 0.1 < 0
    assert weights.tolist() == [0.5, 0.5, 0.0]


def test_nobody_left_falls_back_to_sizes(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="fedloom"):
        weights = disco_weights([30, 10], [1, 1], a=5, b=0)
    assert weights.tolist() == [0.75, 0.25]
    assert "weighting by size" in caplog.text


@given(clients, st.floats(0, 2), st.floats(0, 1), st.sampled_from(["kl", "l2"]), st.randoms(use_true_random=False))
def test_on_the_simplex_and_equivariant(
    rows: list[tuple[int, float]], a: float, b: float, metric: str, shuffle: Any
) -> None:
    sizes, gaps = np.array(rows).T
    weights = disco_weights(sizes, gaps, a, b, metric)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    order = list(range(len(rows)))
    shuffle.shuffle(order)
    np.testing.assert_allclose(disco_weights(sizes[order], gaps[order], a, b, metric), weights[order], atol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "gaps"),
    [([], []), ([1, 2], [1]), ([0, 0], [1, 1]), ([-1, 2], [1, 1]), ([1, 2], [-1, 1]), ([1, 2], [np.nan, 1])],
)
def test_wrong_inputs_are_sentences(sizes: list[float], gaps: list[float]) -> None:
    with pytest.raises(ConfigError, match="Disco needs"):
        disco_weights(sizes, gaps)


def test_a_round_of_everybody() -> None:
    cohort = cohort_of([0, 1, 2, 3], dict(enumerate(SIZES)), dict(enumerate(KL)))
    sums = {"sum:class_counts": np.array([3, 4])}
    weights, state, metrics = disco().weights(cohort, sums, NO_SERVER)
    assert state is sums  # it remembers nothing of its own; a secure sum is kept for a resumed run
    np.testing.assert_allclose(weights, REFERENCE, atol=5e-7)
    assert metrics["disco/effective_clients"] == pytest.approx(1 / sum(p * p for p in REFERENCE), rel=1e-5)
    assert metrics["disco/discrepancy"] == KL
    assert Disco.asks == ("discrepancy",)


def test_partial_round_is_weighed_on_its_own() -> None:
    cohort = cohort_of([1, 3], dict(enumerate(SIZES)), dict(enumerate(KL)))
    alone, _, _ = disco().weights(cohort, {}, NO_SERVER)
    np.testing.assert_allclose(alone, disco_weights([SIZES[1], SIZES[3]], [KL[1], KL[3]]))
    overall, _, _ = disco(scope="all").weights(cohort, {}, NO_SERVER)
    np.testing.assert_allclose(overall, np.array([0.328976, 0.098393]) / (0.328976 + 0.098393), atol=2e-6)
    assert abs(overall - alone).max() > 0.01


def test_scope_all_keeps_named_clients_apart() -> None:
    names: list[ClientId] = ["b", "a", "d", "c"]
    cohort = cohort_of(["a", "d"], dict(zip(names, SIZES, strict=True)), dict(zip(names, KL, strict=True)))
    overall, _, _ = disco(scope="all").weights(cohort, {}, NO_SERVER)
    np.testing.assert_allclose(overall, np.array([0.328976, 0.415383]) / (0.328976 + 0.415383), atol=2e-6)


def test_scope_all_with_a_silenced_cohort() -> None:
    cohort = cohort_of([1, 2], {0: 98, 1: 1, 2: 1}, {0: 0.0, 1: 1.0, 2: 1.0})
    weights, _, _ = disco(scope="all").weights(cohort, {}, NO_SERVER)
    assert weights.tolist() == [0.5, 0.5]


def test_missing_answer_names_the_client() -> None:
    cohort = cohort_of([0, 7], {0: 1, 7: 1}, {0: 0.5})
    with pytest.raises(ConfigError, match="7 did not send"):
        disco().weights(cohort, {}, NO_SERVER)


def test_options() -> None:
    assert DiscoParams(target="global").target == "global"
    assert disco().sums == () and disco(target="global").sums == ("class_counts",)
    asked = disco(target="global").ask_arguments("discrepancy", {"class_counts": np.array([30, 10])})
    assert asked == {"metric": "kl", "target": [0.75, 0.25]}
    assert disco().ask_arguments("discrepancy", {}) == {"metric": "kl", "target": None}
    assert disco(target="0.2,0.8").ask_arguments("discrepancy", {}) == {"metric": "kl", "target": [0.2, 0.8]}
    disco(target="0.2,0.8")
    for wrong in ({"target": "0.2,0.9"}, {"metric": "tv"}, {"a": -1}, {"scope": "none"}, {"c": 1}):
        with pytest.raises(ValidationError):
            DiscoParams(**cast(Any, wrong))
