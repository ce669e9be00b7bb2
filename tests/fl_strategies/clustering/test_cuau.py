"""CUAU and its clusters in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fl_config.errors import ConfigError
from fl_strategies.clustering.cuau import assign_clusters, cluster_borders, cuau_scores, place

RNG = np.random.default_rng(3)


def test_two_clients_by_hand() -> None:
    updates = [[0.0, 0.0], [3.0, 4.0]]
    # AU = (1 (0, 0) + 3 (3, 4)) / 4 = (2.25, 3): the norms are 3.75 and |(0.75, 1)| = 1.25
    np.testing.assert_allclose(cuau_scores(updates, [10, 30]), [3.75, 1.25], rtol=1e-12)
    np.testing.assert_allclose(cuau_scores(updates, [10, 30], au_weighting="uniform"), [2.5, 2.5], rtol=1e-12)


def test_permuting_clients_permutes_scores_and_clusters() -> None:
    updates, sizes, order = RNG.normal(size=(9, 5)), RNG.integers(1, 50, 9), RNG.permutation(9)
    scores = cuau_scores(updates, sizes)
    moved = cuau_scores(updates[order], sizes[order])
    np.testing.assert_allclose(moved, scores[order], rtol=1e-12)
    np.testing.assert_array_equal(assign_clusters(moved, 3), assign_clusters(scores, 3)[order])


def test_a_constant_shift_of_all_updates_changes_nothing() -> None:
    updates, sizes = RNG.normal(size=(6, 4)), RNG.integers(1, 50, 6)
    shifted = updates + RNG.normal(size=4)
    np.testing.assert_allclose(cuau_scores(shifted, sizes), cuau_scores(updates, sizes), rtol=1e-10)


def test_equal_clients_score_zero() -> None:
    np.testing.assert_allclose(cuau_scores(np.ones((4, 3)), [1, 2, 3, 4]), 0, atol=1e-12)


@given(
    st.lists(st.integers(-10_000, 10_000), min_size=2, max_size=60, unique=True), st.sampled_from(["linear", "rank"])
)
def test_two_clusters_split_at_the_median(values: list[int], percentile: str) -> None:
    clusters = assign_clusters(values, 2, percentile)  # type: ignore[arg-type]
    assert (clusters == 1).sum() == -(-len(values) // 2)
    assert max(np.array(values)[clusters == 1]) < min(np.array(values)[clusters == 2])


def test_quantiles_are_interpolated_and_a_border_belongs_below() -> None:
    scores = [0.0, 1.0, 2.0, 3.0, 4.0]
    np.testing.assert_allclose(cluster_borders(scores, 4), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(assign_clusters(scores, 4), [1, 1, 2, 3, 4])
    np.testing.assert_allclose(cluster_borders(scores, 2), [2.0])
    np.testing.assert_allclose(cluster_borders([0.0, 1.0, 2.0, 5.0], 2), [1.5])


def test_ties_share_a_cluster_unless_ranks_decide() -> None:
    scores = [1.0, 1.0, 1.0, 1.0, 2.0]
    np.testing.assert_array_equal(assign_clusters(scores, 2), [1, 1, 1, 1, 2])
    np.testing.assert_array_equal(assign_clusters(scores, 2, "rank"), [1, 1, 1, 2, 2])
    np.testing.assert_array_equal(assign_clusters([7.0] * 4, 2), [1, 1, 1, 1])


@pytest.mark.parametrize("percentile", ["linear", "rank"])
def test_placing_the_founders_again_gives_their_clusters(percentile: str) -> None:
    scores = RNG.normal(size=23)
    borders = cluster_borders(scores, 4, percentile)  # type: ignore[arg-type]
    np.testing.assert_array_equal(place(scores, borders), assign_clusters(scores, 4, percentile))  # type: ignore[arg-type]
    np.testing.assert_array_equal(place([-1e9, 1e9], borders), [1, 4])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: assign_clusters([1.0, 2.0], 1), "at least 2 clusters"),
        (lambda: assign_clusters([1.0, 2.0], 3), "3 clusters need as many clients"),
        (lambda: assign_clusters([1.0, np.nan], 2), "finite CUAU"),
        (lambda: cuau_scores(np.ones((2, 3)), [1, 2, 3]), "updates \\[N, d\\]"),
        (lambda: cuau_scores(np.ones((2, 3)), [1, 0]), "at least one example"),
    ],
)
def test_what_cannot_be_is_a_sentence(call, sentence: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match=sentence):
        call()
