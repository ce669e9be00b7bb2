"""The headline of each client, by name."""

from __future__ import annotations

import pytest

from simulation.report.pictures.clients import MANY_CLIENTS, client_figure
from simulation.report.pictures.drawing import MOST_COLUMNS, PALETTE
from tests.simulation.report.headline_runs import scored


def test_one_run_has_bars_by_name_from_the_worst_client_to_the_best() -> None:
    clients = {"city": 0.9, "<i>north": 0.7, "south": 0.8, "empty": None}
    figure = client_figure([scored("fedavg", "auroc", [0.5, 0.8], clients=clients)])
    assert figure is not None
    (bars,) = figure.marks
    assert (bars.kind, bars.x, bars.y) == ("bars", ["<i>north", "south", "city"], [0.7, 0.8, 0.9])
    assert (figure.plot.y.title, figure.plot.y.unit) == ("auroc", "number")


def test_of_an_error_the_largest_comes_first() -> None:
    figure = client_figure([scored("fedavg", "rmse", [9.0], better="less", clients={"a": 1.0, "b": 3.0})])
    assert figure is not None
    assert figure.marks[0].x == ["b", "a"]


def test_several_runs_are_dots_in_the_order_of_the_mean() -> None:
    runs = [
        scored("fedavg", "auroc", [0.5], seed=0, clients={"a": 0.9, "b": 0.5}),
        scored("fedavg", "auroc", [0.5], seed=1, clients={"a": 0.3, "b": 0.6}),
        scored("fedprox", "auroc", [0.5], clients={"a": 0.1, "b": 0.7, "c": 0.2}),
        scored("scaffold", "auroc", [0.5]),
    ]
    figure = client_figure(runs)
    assert figure is not None
    assert figure.plot.x.names == ["c", "a", "b"]  # 0.2, 0.4333, 0.6
    assert [(dots.x, dots.y) for dots in figure.marks] == [
        (["a", "b"], [0.9, 0.5]),
        (["a", "b"], [0.3, 0.6]),
        (["c", "a", "b"], [0.2, 0.1, 0.7]),
    ]
    assert [dots.look.colour for dots in figure.marks] == [PALETTE[0], PALETTE[0], PALETTE[1]]
    assert [dots.look.told for dots in figure.marks] == [True, False, True]


@pytest.mark.parametrize("count", [MANY_CLIENTS, MANY_CLIENTS + 1, MOST_COLUMNS + 200])
def test_many_clients_are_not_named_on_the_axis_and_of_very_many_the_worst_are_drawn(count: int) -> None:
    clients: dict[str, float | None] = {f"site {n}": n / count for n in range(count)}
    figure = client_figure([scored("fedavg", "auroc", [0.5], clients=clients)])
    assert figure is not None
    assert figure.marks[0].x == [f"site {n}" for n in range(min(count, MOST_COLUMNS))]
    assert figure.plot.x.labelled == (count <= MANY_CLIENTS)
    assert ("worst served of 500" in figure.plot.x.title) == (count == 500)


def test_without_clients_figures_there_is_no_picture() -> None:
    assert client_figure([scored("fedavg", "auroc", [0.5])]) is None
    unnamed = scored("fedavg", "auroc", [0.5], clients={"a": 0.1})
    unnamed.metrics[-1]["personal/client_ids"] = ["a", "b"]
    assert client_figure([unnamed]) is None
