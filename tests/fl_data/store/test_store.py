"""Data sets by name and by file: what a run may want of which, read again when changed, normalised or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from fl_data import DataError, Samples, check_dataset_spec, load
from tests.fl_data.formats.written import save


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("fashionmnist", "did you mean 'fashion-mnist'"),
        ("CIFAR10", "did you mean 'cifar10'"),
        ("qqqqqq", "known are fashion-mnist"),
        ("npz:", "no file that exists"),
        ("npz:/nowhere.npz", "no file that exists"),
        ("folder:/nowhere", "no folder that exists"),
        ("zip:/nowhere", "There is no dataset"),
    ],
)
def test_wrong_dataset_specs(spec: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        check_dataset_spec(spec)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    spec = save(tmp_path / "a.npz")
    first = load(spec)
    assert load(spec) is first
    save(tmp_path / "a.npz", x_train=np.full((4, 3), 5.0), extra=[1])
    assert load(spec).x_train[0, 0] == 5.0


def test_a_folder_of_images(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        for number in range(5):
            Image.new("RGB", (4, 4), (255, 0, 51)).save(tmp_path / name / f"{number}.png")
    data = load(f"folder:{tmp_path}")
    assert (data.kind, data.shape, len(data.y_train), len(data.y_test)) == ("image", (3, 4, 4), 8, 2)
    assert data.mean == pytest.approx((1.0, 0.0, 0.2))
    assert load(f"folder:{tmp_path}") is data
    Image.new("RGB", (4, 4)).save(tmp_path / "cat" / "9.png")
    assert len(load(f"folder:{tmp_path}").y_train) == 9


def test_none_is_pixels_over_255() -> None:
    plain, normal = load("digits", normalise="none"), load("digits")
    assert (plain.mean, plain.std) == ((0.0,), (1.0,))
    assert normal.mean != plain.mean
    assert np.array_equal(plain.x_train, normal.x_train)
    batch, _ = Samples(plain.x_train, plain.y_train, plain).batch(torch.arange(20))
    torch.testing.assert_close(batch, torch.from_numpy(plain.x_train[:20] / np.float32(255)))
    assert load("digits", normalise="none") is plain
    assert load("digits") is normal
