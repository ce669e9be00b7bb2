"""A data set among simulated clients: everybody's rows, once, what is held out of them; clients by name; lazy counts of many clients."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from fl_config.errors import ConfigError
from fl_config.options import Options, options
from fl_data import load
from fl_data.division import (
    SHOWN,
    ClientCounts,
    Division,
    clients_of,
    counts_of,
    dataset_of,
    parts_of,
    samples_of,
    shown_clients,
    shown_counts,
    sizes_of,
    training_counts,
    training_sizes,
)

CONFIG = options({"dataset": "digits", "partition": "dirichlet:0.3", "clients": 6, "seed": 2})


def test_every_training_sample_is_at_one_client() -> None:
    dataset = load("digits")
    parts = parts_of(Division.of(CONFIG))
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(len(dataset.y_train)))
    counts = counts_of(CONFIG, dataset)
    assert counts.tolist() == [np.bincount(dataset.y_train[part], minlength=10).tolist() for part in parts]


def test_a_client_has_its_rows_and_holds_some_of_them_out() -> None:
    division = Division.of(CONFIG)
    train, held = samples_of(division, 1, 0.25, "cpu")
    total = len(parts_of(division)[1])
    assert len(train) + len(held) == total and abs(len(held) - total / 4) <= 10  # by class, so rounded ten times
    assert samples_of(division, 1, 0.25, "cpu")[0] is train, "the samples are read anew in every round"
    everything, nothing = samples_of(division, 1, 0.0, "cpu")
    assert len(everything) == total and nothing is None


@pytest.fixture
def hospitals(tmp_path: Path) -> Options:
    random = np.random.default_rng(0)
    lines = [
        f"{('north', 'south', 'east')[row % 3]},{random.normal():.3f},{row % 2},{random.normal():.3f}"
        for row in range(90)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["hospital,age,ill,risk", *lines]) + "\n")
    return Options(dataset=f"csv:{tmp_path / 't.csv'}", label="ill", partition="column:hospital")


def test_clients_by_name(hospitals: Options) -> None:
    dataset = dataset_of(hospitals)
    count, names = clients_of(hospitals, dataset)
    assert (count, names) == (3, ("east", "north", "south"))
    config = hospitals.model_copy(update={"clients": count})
    assert clients_of(config, dataset) == (count, names)
    assert sizes_of(Division.of(config)).tolist() == [24, 24, 24]
    train, held = samples_of(Division.of(config), 0, 0.25, "cpu")
    assert (len(train), len(held)) == (18, 6)
    assert counts_of(config, dataset).shape == (3, 2)
    with pytest.raises(
        ConfigError, match=r"has 3 clients \(east, north, south\), but --clients is 7; leave --clients out"
    ):
        clients_of(hospitals.model_copy(update={"clients": 7}), dataset)
    assert clients_of(hospitals.model_copy(update={"partition": "iid"}), dataset) == (10, None)


def test_numbers_to_predict(hospitals: Options) -> None:
    config = hospitals.model_copy(update={"label": "risk", "clients": 3})
    dataset = dataset_of(config, "numbers")
    train, _ = samples_of(Division.of(config, "numbers"), 1, 0.0, "cpu")
    assert train.y is not None
    assert train.y.dtype == torch.float32
    assert counts_of(config, dataset).tolist() == [[24], [24], [24]]


def test_normalise_reaches_the_samples() -> None:
    config = Options(dataset="digits", partition="iid", clients=5, normalise="none")
    train, _ = samples_of(Division.of(config), 0, 0.0, "cpu")
    x, _ = train.batch(slice(None))
    assert x.min() == 0
    assert x.max() <= 1
    assert dataset_of(config).mean == (0.0,)


def test_counts_one_by_one_are_the_counts_of_all() -> None:
    for partition in ("dirichlet:0.3", "drawn:20:0.3"):
        config = Options(dataset="digits", partition=partition, clients=12)
        dataset = dataset_of(config)
        lazy, whole = ClientCounts(config, dataset), counts_of(config, dataset)
        assert np.array_equal(np.stack(list(lazy)), whole)
        assert np.array_equal(np.stack(lazy[3:5]), whole[3:5])
        assert np.array_equal(sizes_of(Division.of(config)), whole.sum(1))
    million = Options(dataset="digits", partition="drawn:20:0.3", clients=1_000_000)
    assert np.array_equal(ClientCounts(million, dataset)[11], whole[11])
    assert sizes_of(Division.of(million)).sum() == 20_000_000
    assert parts_of(Division.of(million)) is parts_of(dataclasses.replace(Division.of(million)))


@pytest.mark.parametrize("partition", ["dirichlet:0.3", "drawn:20:0.3"])
@pytest.mark.parametrize("held_out", [0.0, 0.3])
def test_what_a_client_trains_on_is_known_without_its_samples(partition: str, held_out: float) -> None:
    division = Division.of(Options(dataset="digits", partition=partition, clients=7))
    labels = [samples_of(division, client, held_out, "cpu")[0].y for client in range(7)]
    assert training_sizes(division, held_out).tolist() == [len(y) for y in labels if y is not None]
    for client, y in enumerate(labels):
        assert y is not None
        counts = training_counts(division, client, held_out)
        assert counts.dtype == np.int64 and counts.tolist() == torch.bincount(y, minlength=10).tolist()


def test_of_very_many_clients_some_are_shown() -> None:
    config = Options(dataset="digits", partition="drawn:20:0.3", clients=1_000_000)
    dataset = dataset_of(config)
    shown = shown_clients(config.clients)
    assert len(set(shown)) == SHOWN and (shown[0], shown[-1]) == (0, 999_999)
    counts = shown_counts(config, dataset)
    assert counts.shape == (SHOWN, 10) and np.array_equal(counts[7], ClientCounts(config, dataset)[shown[7]])
    few = config.model_copy(update={"clients": 30})
    assert shown_clients(30) == list(range(30))
    assert np.array_equal(shown_counts(few, dataset), counts_of(few, dataset))
