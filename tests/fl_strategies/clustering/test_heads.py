"""A cluster's head: which arrays it is, and its average by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fl_config.errors import ConfigError
from fl_protocol.layout import Layout
from fl_protocol.types import Arrays
from fl_strategies.clustering.heads import average_head, head_arrays

NAMES = ["body.conv1.weight", "body.conv10.weight", "body.conv2.weight", "body.norm.running_mean", "head.weight"]


def head(weight: list[float], mean: float = 0.0, count: int = 0) -> Arrays:
    weights = np.array(weight, dtype=np.float32)
    return {"w": weights, "mean": np.array([mean], dtype=np.float32), "count": np.array(count)}


LAYOUT = Layout.of(head([0.0, 0.0]), ["w"])


def test_heads_are_whole_modules_without_what_is_private() -> None:
    assert head_arrays(NAMES, "auto", ("body.conv2", "head")) == ["body.conv2.weight", "head.weight"]
    assert head_arrays(NAMES, "body.conv1, head.weight", ()) == ["body.conv1.weight", "head.weight"]
    assert head_arrays(NAMES, "body.norm,head", (), private=["head.weight"]) == ["body.norm.running_mean"]


def test_an_unknown_module_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"trunk_end names 'body.conv3'.*did you mean 'body.conv") as problem:
        head_arrays(NAMES, "body.conv3,head", ())
    assert "Its modules are body, body.conv1" in str(problem.value)


def test_a_head_that_is_all_private_is_refused() -> None:
    with pytest.raises(ConfigError, match="heads would be empty"):
        head_arrays(NAMES, "head", (), private=["head.weight"])


def test_average_over_those_who_trained_it_renormalised() -> None:
    sent, weights = head([0.0, 8.0], 1.0, 3), np.array([0.2, 0.5, 0.3])
    heads = [head([1.0, 8.0], 2.0, 5), None, head([6.0, 3.0], 7.0, 4)]
    averaged = average_head(LAYOUT, sent, heads, weights)
    # shares 0.4 and 0.6: 0.4 * 1 + 0.6 * 6, 0.4 * 8 + 0.6 * 3; running mean 0.4 * 2 + 0.6 * 7; counters by maximum
    np.testing.assert_allclose(averaged["w"], [4.0, 5.0], rtol=1e-6)
    np.testing.assert_allclose(averaged["mean"], [5.0], rtol=1e-6)
    assert averaged["count"] == 5


def test_diluted_average_counts_the_old_head_for_the_others() -> None:
    sent, weights = head([0.0, 8.0], 1.0, 9), np.array([0.2, 0.5, 0.3])
    heads = [head([1.0, 8.0], 2.0, 5), None, head([6.0, 3.0], 7.0, 4)]
    averaged = average_head(LAYOUT, sent, heads, weights, dilute=True)
    np.testing.assert_allclose(averaged["w"], [0.2 * 1 + 0.3 * 6, 0.7 * 8 + 0.3 * 3], rtol=1e-6)
    np.testing.assert_allclose(averaged["mean"], [0.2 * 2 + 0.5 * 1 + 0.3 * 7], rtol=1e-6)


@pytest.mark.parametrize("dilute", [False, True])
def test_nobody_leaves_the_head_as_it_is(dilute: bool) -> None:
    sent = head([0.1, 0.7], 1.0, 9)
    assert average_head(LAYOUT, sent, [None, None], np.array([0.5, 0.5]), dilute) is sent
    assert average_head(LAYOUT, sent, [head([5.0, 5.0]), None], np.array([0.0, 1.0]), dilute) is sent
