"""Batches: the same numbers as the textbook formula, in channels_last, without touching the source."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fl_config import device
from fl_data import Samples
from fl_data.samples import SHARED, fits, home, kept_bytes, residence

COLOUR = SimpleNamespace(kind="image", mean=(0.5, 0.4, 0.3), std=(0.2, 0.25, 0.5), flips=True)
GREY = SimpleNamespace(kind="image", mean=(0.3,), std=(0.35,), flips=False)


@pytest.mark.parametrize(("about", "channels"), [(COLOUR, 3), (GREY, 1)])
def test_images_are_normalised_and_channels_last(about: SimpleNamespace, channels: int) -> None:
    x = np.random.default_rng(0).integers(0, 256, (9, channels, 5, 4), dtype=np.uint8)
    y = np.arange(9)
    samples = Samples(x, y, about, indices=np.array([8, 2, 5, 0]))
    index = torch.tensor([3, 1, 1])
    batch, labels = samples.batch(index)
    chosen = torch.from_numpy(x[[0, 2, 2]]).double() / 255
    mean, std = (torch.tensor(value, dtype=torch.float64).view(1, -1, 1, 1) for value in (about.mean, about.std))
    torch.testing.assert_close(batch.double(), (chosen - mean) / std, atol=1e-6, rtol=1e-6)
    assert batch.dtype == torch.float32
    assert batch.is_contiguous(memory_format=torch.channels_last)
    assert labels is not None
    assert labels.tolist() == [0, 2, 2]
    assert labels.dtype == torch.int64
    assert len(samples) == 4
    assert samples.x.dtype == torch.uint8
    assert samples.x.shape == (4, channels, 5, 4)
    assert torch.equal(samples.x, torch.from_numpy(x[[8, 2, 5, 0]]))


def test_a_slice_is_the_same_as_its_numbers() -> None:
    x = np.random.default_rng(0).integers(0, 256, (6, 3, 4, 4), dtype=np.uint8)
    samples = Samples(x, np.arange(6), COLOUR)
    by_slice, by_index = samples.batch(slice(1, 4)), samples.batch(torch.tensor([1, 2, 3]))
    assert torch.equal(by_slice[0], by_index[0])
    assert by_slice[1] is not None
    assert by_index[1] is not None
    assert torch.equal(by_slice[1], by_index[1])


def test_read_only_sources_are_copied() -> None:
    x = np.zeros((3, 1, 2, 2), dtype=np.uint8)
    x.flags.writeable = False
    samples = Samples(x, None, GREY)
    samples.x.fill_(7)
    assert x.sum() == 0
    assert samples.batch(slice(0, 3))[1] is None


def test_features_and_tokens_come_as_they_are() -> None:
    features = Samples(
        np.array([[1.5, -2.0]]), np.array([1]), SimpleNamespace(kind="features", mean=None, std=None, flips=False)
    )
    assert features.batch(torch.tensor([0]))[0].tolist() == [[1.5, -2.0]]
    assert features.x.dtype == torch.float32
    tokens = Samples(
        np.array([[4, 0]], dtype=np.int32), None, SimpleNamespace(kind="tokens", mean=None, std=None, flips=False)
    )
    assert tokens.batch(slice(0, 1))[0].dtype == torch.int64


def test_wrong_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="3 samples were given with 2 labels"):
        Samples(np.zeros((3, 1, 2, 2), np.uint8), np.zeros(2), GREY)
    with pytest.raises(ValueError, match="uint8"):
        Samples(np.zeros((3, 1, 2, 2), np.float32), None, GREY)


def test_part_of_a_set_that_lies_somewhere_already_gives_the_batches_of_a_copy() -> None:
    x = np.random.default_rng(0).integers(0, 256, (9, 3, 5, 4), dtype=np.uint8)
    places = np.array([8, 2, 5, 0])
    copied, part = Samples(x, np.arange(9), COLOUR, indices=places), Samples(x, np.arange(9), COLOUR).part(places)
    assert len(part) == 4
    assert torch.equal(part.x, copied.x)
    for index in (torch.tensor([3, 1, 1]), slice(1, 3), torch.tensor([True, False, True, True])):
        (one, its), (other, others) = copied.batch(index), part.batch(index)
        assert torch.equal(one, other) and one.stride() == other.stride()
        assert its is not None and others is not None and torch.equal(its, others)
    features = Samples(np.eye(4), None).part(np.array([2, 0]))
    assert features.y is None
    assert features.batch(torch.tensor([1]))[0].tolist() == [[1, 0, 0, 0]]


def test_on_a_gpu_samples_lie_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "total_memory", lambda _: 8 * 2**30)
    gpu = torch.device("cuda")
    cifar = SimpleNamespace(kind="image", shape=(3, 32, 32))
    assert residence(cifar, gpu, everything=50_000, client=5_000) == "whole"
    assert residence(cifar, gpu, everything=10**6, client=5_000) == "own"
    assert residence(cifar, gpu, everything=10**6, client=100_000) == "host"
    for elsewhere in ("cpu", "mps"):
        assert residence(cifar, torch.device(elsewhere), everything=10**9, client=10**7) == "own"
    # 2 % of 8 GB hold 171,798,691 bytes: so many images with their labels, or a fourth as many features.
    for kind, count in (("image", 171_798_691 // 3080), ("features", 171_798_691 // 12_296)):
        about = SimpleNamespace(kind=kind, shape=(3, 32, 32))
        assert fits(about, count, gpu, SHARED) and not fits(about, count + 1, gpu, SHARED)
    assert kept_bytes(gpu, "own", 2**28) == 171_798_691
    assert kept_bytes(gpu, "host", 2**28) == kept_bytes(torch.device("cpu"), "own", 2**28) == 2**28
    assert home(cifar, 600_000, gpu) == gpu
    assert home(cifar, 800_000, gpu) == torch.device("cpu")
    assert home(cifar, 10**9, torch.device("mps")) == torch.device("mps")
