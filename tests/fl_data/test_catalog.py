"""The catalog can be tried, and Fashion-MNIST is what was published: known facts, real partitions and batches."""

from __future__ import annotations

import hashlib
import time

import numpy as np
import pytest
import torch

from fl_data import Augment, Dataset, Samples, label_counts, load, partition, skew, sources, target_indices
from fl_data.catalog import CATALOG

TEST_LABELS_SHA256 = "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"


@pytest.fixture(scope="module")
def fashion() -> Dataset:
    return load("fashion-mnist")


def test_published_facts(fashion: Dataset) -> None:
    assert fashion.x_train.shape == (60_000, 1, 28, 28)
    assert fashion.x_test.shape == (10_000, 1, 28, 28)
    assert fashion.y_train[:10].tolist() == [9, 0, 0, 3, 0, 2, 7, 2, 5, 5]
    assert np.bincount(fashion.y_train).tolist() == [6000] * 10
    assert np.bincount(fashion.y_test).tolist() == [1000] * 10
    assert fashion.mean == pytest.approx((0.2860,), abs=1e-4)
    assert fashion.std == pytest.approx((0.3530,), abs=1e-4)
    assert fashion.class_names[9] == "Ankle boot"
    assert isinstance(fashion.x_train, np.memmap)


def test_the_labels_are_those_of_the_published_files(fashion: Dataset) -> None:
    """SHA-256 of the idx header and the label bytes, as MNIST-style files store them."""
    header = bytes([0, 0, 8, 1]) + (10_000).to_bytes(4, "big")
    content = header + fashion.y_test.astype(np.uint8).tobytes()
    assert len(content) == 10_008
    assert hashlib.sha256(content).hexdigest() == TEST_LABELS_SHA256


def test_paper_partitions(fashion: Dataset) -> None:
    start = time.monotonic()
    niid_2 = label_counts(fashion.y_train, partition("biased:5:1", fashion.y_train, 6, 10, 0), 10)
    assert niid_2.sum(1).tolist() == [10_000] * 6
    shards = partition("shards:2", fashion.y_train, 5, 10, 0)
    counts = label_counts(fashion.y_train, shards, 10)
    target = target_indices("skew:0", fashion, counts, 0)
    assert len(target) == 2000
    assert set(np.unique(fashion.y_test[target])) == set(np.flatnonzero(counts[0]))
    for spec in ("dirichlet:0.1", "lda:0.1", "shards:3", "mixed:1000,1,0.5,0.1"):
        parts = partition(spec, fashion.y_train, 5000, 10, 0)
        assert sum(map(len, parts)) == 60_000
        assert skew(label_counts(fashion.y_train, parts, 10))["mean_tv"] > 0.3
    assert time.monotonic() - start < 30


def test_a_real_batch_is_standardised(fashion: Dataset) -> None:
    samples = Samples(fashion.x_train, fashion.y_train, fashion, indices=np.arange(0, 60_000, 30))
    x, y = samples.batch(torch.arange(2000))
    assert abs(x.mean().item()) < 0.05
    assert abs(x.std().item() - 1) < 0.05
    assert y is not None
    assert torch.equal(y, torch.from_numpy(np.array(fashion.y_train[::30])))
    views = [Augment("ssa", fashion)(x[:64], torch.Generator().manual_seed(seed)) for seed in (0, 1)]
    assert not torch.equal(*views)
    # A view is still the same garment: closer to its source than to a shuffled one.
    own = (views[0] - x[:64]).pow(2).mean()
    assert own < (views[0] - x[:64].roll(1, 0)).pow(2).mean()


def test_every_source_of_the_catalog_can_be_tried() -> None:
    for entry in CATALOG.values():
        for source in entry.sources:
            assert source.kind == "files" or source.kind in sources._FETCHERS, (entry.name, source)
            if source.kind in ("files", "debian", "npm", "pypi", "torchvision"):
                assert source.read, (entry.name, source)
                assert source.folders, (entry.name, source)
