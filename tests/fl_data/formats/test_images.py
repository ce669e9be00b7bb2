"""Folders of images, of published data sets and of users."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fl_data import DataError
from fl_data.formats import images


def paint(path: Path, value: int, size: tuple[int, int] = (32, 32), mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, value if mode == "L" else (value, 0, 0)).save(path)


def test_cinic_folders(tmp_path: Path) -> None:
    for label, name in enumerate(("cat", "airplane")):
        paint(tmp_path / "train" / name / "a.png", 10 + label)
        paint(tmp_path / "valid" / name / "a.png", 99)
        paint(tmp_path / "test" / name / "b.png", 20 + label)
    decoded = images.read_split_folders(tmp_path, 32)
    assert decoded.class_names == ("airplane", "cat")
    assert decoded.x_train[:, 0, 0, 0].tolist() == [11, 10]
    assert decoded.x_test[:, 0, 0, 0].tolist() == [21, 20]


def test_tiny_imagenet(tmp_path: Path) -> None:
    (tmp_path / "wnids.txt").write_text("n02\nn01\n")
    for value, name in ((50, "n01"), (200, "n02")):
        paint(tmp_path / "train" / name / "images" / f"{name}_0.JPEG", value, (64, 64))
    paint(tmp_path / "val" / "images" / "val_0.JPEG", 90, (64, 64))
    annotations = tmp_path / "val" / "val_annotations.txt"
    annotations.write_text("val_0.JPEG\tn02\t0\t0\t9\t9\n")
    decoded = images.read_tiny_imagenet(tmp_path)
    assert decoded.y_train.tolist() == [0, 1]
    assert decoded.y_test.tolist() == [1]
    assert abs(int(decoded.x_train[1, 0, 9, 9]) - 200) < 5
    annotations.write_text("val_0.JPEG\tn09\t0\t0\t9\t9\n")
    with pytest.raises(DataError, match="n09"):
        images.read_tiny_imagenet(tmp_path)


@pytest.mark.parametrize(("parts", "val"), [(("train", "train"), "val"), (("train.X1", "train.X2"), "val.X")])
def test_imagenet100_in_both_layouts(tmp_path: Path, parts: tuple[str, str], val: str) -> None:
    for part, name in zip(parts, ("n01", "n02"), strict=True):
        paint(tmp_path / part / name / "a.JPEG", 100, (120, 80))
        paint(tmp_path / val / name / "b.JPEG", 100, (60, 90))
    decoded = images.read_imagenet100(tmp_path)
    assert decoded.x_train.shape == decoded.x_test.shape == (2, 3, 64, 64)
    assert decoded.y_train.tolist() == [0, 1]


def test_ham10000_divides_lesions(tmp_path: Path) -> None:
    with (tmp_path / "HAM10000_metadata.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["lesion_id", "image_id", "dx", "dx_type", "age", "sex", "localization"])
        for number in range(40):
            table.writerow(
                [f"HAM_{number // 2}", f"ISIC_{number:04}", ("mel", "nv")[number // 2 % 2], "histo", 50, "male", "ear"]
            )
            paint(
                tmp_path / f"HAM10000_images_part_{1 + number % 2}" / f"ISIC_{number:04}.jpg",
                number // 2 * 10,
                (60, 45),
            )
    decoded = images.read_ham10000(tmp_path)
    assert decoded.class_names == ("mel", "nv")
    assert len(decoded.y_train) + len(decoded.y_test) == 40
    # The shade of an image is its lesion's number times ten.
    train, test = (set(np.rint(x[:, 0, 5, 5] / 10).astype(int).tolist()) for x in (decoded.x_train, decoded.x_test))
    assert test
    assert not train & test
    assert train | test == set(range(20))
    (tmp_path / "HAM10000_images_part_1" / "ISIC_0000.jpg").unlink()
    with pytest.raises(DataError, match="ISIC_0000"):
        images.read_ham10000(tmp_path)


def test_a_users_folder(tmp_path: Path) -> None:
    for label, name in enumerate(("dog", "cat")):
        for number in range(5):
            paint(tmp_path / name / f"{number}.png", 10 * label + number, (6, 5), "L")
    decoded = images.read_folder(tmp_path)
    assert decoded.x_train.shape == (8, 1, 5, 6)
    assert decoded.class_names == ("cat", "dog")
    assert decoded.x_test[:, 0, 0, 0].tolist() == [14, 4]
    paint(tmp_path / "cat" / "wide.png", 9, (20, 5))
    assert images.read_folder(tmp_path).x_train.shape == (8 + 1, 3, 64, 64)


def test_a_users_folder_with_its_own_test_set(tmp_path: Path) -> None:
    for name in ("a", "b"):
        paint(tmp_path / "train" / name / "0.png", 1)
        paint(tmp_path / "test" / name / "0.png", 2)
    assert len(images.read_folder(tmp_path).y_test) == 2
    paint(tmp_path / "test" / "c" / "0.png", 2)
    with pytest.raises(DataError, match="class 'c'"):
        images.read_folder(tmp_path)


def test_wrong_folders_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no class folders"):
        images.read_folder(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        images.read_folder(tmp_path / "nowhere")
    os.mkdir(tmp_path / "cat")
    with pytest.raises(DataError, match="no image for any of its 1 classes"):
        images.read_folder(tmp_path)
    (tmp_path / "cat" / "a.png").write_bytes(b"not a picture")
    with pytest.raises(DataError, match="not a readable image"):
        images.read_folder(tmp_path)
