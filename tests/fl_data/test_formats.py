"""Readers of published formats, on small files written byte by byte in those formats."""

from __future__ import annotations

import csv
import gzip
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fl_data import DataError
from fl_data.formats import cifar, idx, images, leaf, text
from fl_data.formats.inert import read_inert

RANDOM = np.random.default_rng(0)
TEN = tuple(map(str, range(10)))


def write_idx(path: Path, array: np.ndarray) -> None:
    content = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_mnist(folder: Path, suffix: str = "") -> tuple[np.ndarray, np.ndarray]:
    folder.mkdir(parents=True, exist_ok=True)
    x, y = RANDOM.integers(0, 256, (7, 28, 28), dtype=np.uint8), np.arange(7, dtype=np.uint8)
    for split, rows in (("train", slice(0, 5)), ("t10k", slice(5, 7))):
        write_idx(folder / f"{split}-images-idx3-ubyte{suffix}", x[rows])
        write_idx(folder / f"{split}-labels-idx1-ubyte{suffix}", y[rows])
    return x, y


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_idx(tmp_path: Path, suffix: str) -> None:
    x, y = write_mnist(tmp_path, suffix)
    decoded = idx.read_mnist(tmp_path, TEN)
    assert np.array_equal(decoded.x_train[:, 0], x[:5])
    assert np.array_equal(decoded.x_test[:, 0], x[5:])
    assert decoded.y_test.tolist() == y[5:].tolist()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda raw: raw[:-1], "announces 3,920 bytes of data but holds 3,919"),
        (lambda raw: raw + b"x", "holds 3,921"),
        (lambda raw: raw[:9], "ends inside its header"),
        (lambda raw: b"\0\0\x0d" + raw[3:], "not an idx file"),
        (lambda raw: b"", "not an idx file"),
    ],
)
def test_a_damaged_idx_file(tmp_path: Path, damage: object, sentence: str) -> None:
    write_mnist(tmp_path)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(DataError, match=sentence):
        idx.read_mnist(tmp_path, TEN)


def test_a_truncated_gzip_file_and_a_missing_one(tmp_path: Path) -> None:
    write_mnist(tmp_path, ".gz")
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="cannot be unpacked"):
        idx.read_mnist(tmp_path, TEN)
    path.unlink()
    with pytest.raises(DataError, match="no file train-images"):
        idx.read_mnist(tmp_path, TEN)


def test_emnist_letters_are_turned_upright(tmp_path: Path) -> None:
    x, y = RANDOM.integers(0, 256, (3, 28, 28), dtype=np.uint8), np.array([1, 26, 5], dtype=np.uint8)
    for split in ("train", "test"):
        write_idx(tmp_path / f"emnist-letters-{split}-images-idx3-ubyte", x)
        write_idx(tmp_path / f"emnist-letters-{split}-labels-idx1-ubyte", y)
    decoded = idx.read_emnist_letters(tmp_path, tuple("abcdefghijklmnopqrstuvwxyz"))
    assert np.array_equal(decoded.x_train[1, 0], x[1].T)
    assert decoded.y_train.tolist() == [0, 25, 4]


def test_json_by_class_keeps_duplicates_out_of_the_test_set(tmp_path: Path) -> None:
    rows = [[value] * 784 for value in (1, 2, 3, 3)]
    (tmp_path / "0.json").write_text(json.dumps({"data": [*rows, []]}))
    (tmp_path / "1.json").write_text(json.dumps({"data": [[value] * 784 for value in (4, 5, 6)]}))
    decoded = idx.read_class_json(tmp_path, ("a", "b"), test_per_class=1)
    assert decoded.x_test[:, 0, 0, 0].tolist() == [2, 6]
    assert decoded.y_train.tolist() == [0, 1, 0, 1, 0]
    assert decoded.x_train[:, 0, 0, 0].tolist() == [1, 4, 3, 5, 3]


def opcode_file(entries: dict[str, object]) -> bytes:
    """A protocol-2 object file as Python 2 wrote CIFAR's: short strings, a list of ints, one byte array."""

    def encode(value: object) -> bytes:
        if isinstance(value, str):
            return b"U" + bytes([len(value)]) + value.encode()
        if isinstance(value, list):
            items = b"".join(b"K" + bytes([v]) if isinstance(v, int) else encode(v) for v in value)
            return b"](" + items + b"e"
        assert isinstance(value, np.ndarray)
        raw = value.tobytes()
        reconstruct = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        shape = b"".join(b"M" + struct.pack("<H", side) for side in value.shape) + b"\x86"
        dtype = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        return reconstruct + b"(K\x01" + shape + dtype + b"\x89" + b"T" + struct.pack("<i", len(raw)) + raw + b"tb"

    body = b"".join(encode(key) + encode(value) for key, value in entries.items())
    return b"\x80\x02}q\x01(" + body + b"u."


def test_cifar_10_py(tmp_path: Path) -> None:
    x = RANDOM.integers(0, 256, (12, 3072), dtype=np.uint8)
    names = [*(f"data_batch_{part}" for part in range(1, 6)), "test_batch"]
    for part, name in enumerate(names):
        rows = slice(2 * part, 2 * part + 2)
        (tmp_path / name).write_bytes(opcode_file({"data": x[rows], "labels": [part, 9 - part], "batch_label": name}))
    (tmp_path / "batches.meta").write_bytes(opcode_file({"label_names": [f"class {n}" for n in range(10)]}))
    decoded = cifar.read_cifar_py(tmp_path, TEN)
    assert np.array_equal(decoded.x_train, x[:10].reshape(-1, 3, 32, 32))
    assert decoded.y_train.tolist() == [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]
    assert decoded.y_test.tolist() == [5, 4]
    assert decoded.class_names[3] == "class 3"
    (tmp_path / "data_batch_2").unlink()
    with pytest.raises(DataError, match="no file data_batch_2"):
        cifar.read_cifar_py(tmp_path, TEN)


def test_cifar_100_py_and_binary_agree(tmp_path: Path) -> None:
    x = RANDOM.integers(0, 256, (3, 3072), dtype=np.uint8)
    fine, coarse = [99, 0, 41], [3, 2, 1]
    for name in ("train", "test"):
        entries = {"filenames": ["a", "b", "c"], "fine_labels": fine, "coarse_labels": coarse, "data": x}
        (tmp_path / name).write_bytes(opcode_file(entries))
        rows = np.concatenate([np.array([coarse, fine], dtype=np.uint8).T, x], axis=1)
        (tmp_path / f"{name}.bin").write_bytes(rows.tobytes())
    names = tuple(map(str, range(100)))
    for decoded in (cifar.read_cifar_py(tmp_path, names, True), cifar.read_cifar_binary(tmp_path, names, True)):
        assert decoded.y_train.tolist() == fine
        assert np.array_equal(decoded.x_test.reshape(3, -1), x)
    (tmp_path / "test.bin").write_bytes(b"x" * 100)
    with pytest.raises(DataError, match="not a multiple of 3074"):
        cifar.read_cifar_binary(tmp_path, names, True)


def test_an_object_file_runs_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "was-here"
    command = f"touch {trace}".encode()
    evil = b"\x80\x02}(U\x04data" + b"cposix\nsystem\nU" + bytes([len(command)]) + command + b"\x85Ru."
    (tmp_path / "batch").write_bytes(evil)
    with pytest.raises(DataError, match="something else than arrays"):
        read_inert(tmp_path / "batch")
    assert not trace.exists()
    whole = opcode_file({"data": np.zeros((2, 4), np.uint8), "labels": [1, 2]})
    for cut in range(len(whole)):
        (tmp_path / "batch").write_bytes(whole[:cut])
        with pytest.raises(DataError):
            read_inert(tmp_path / "batch")


def test_cifar_strips(tmp_path: Path) -> None:
    x = RANDOM.integers(0, 256, (2, 1024, 3), dtype=np.uint8)
    for name in [*(f"data_batch_{part}" for part in range(1, 6)), "test_batch"]:
        Image.fromarray(x).save(tmp_path / f"{name}.png")
    (tmp_path / "train_lables.json").write_text(json.dumps(list(range(10))))
    (tmp_path / "test_lables.json").write_text("[3, 4]")
    decoded = cifar.read_cifar_strips(tmp_path, TEN)
    assert decoded.x_train.shape == (10, 3, 32, 32)
    assert decoded.x_test[1, 2, 5, 7] == x[1, 5 * 32 + 7, 2]
    assert decoded.y_test.tolist() == [3, 4]
    (tmp_path / "test_lables.json").write_text("[3]")
    with pytest.raises(DataError, match="1 labels for 2 images"):
        cifar.read_cifar_strips(tmp_path, TEN)


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


def test_femnist_json(tmp_path: Path) -> None:
    def write(split: str, users: dict[str, tuple[list[float], list[int]]]) -> None:
        (tmp_path / split).mkdir(exist_ok=True)
        data = {user: {"x": [[value] * 784 for value in xs], "y": ys} for user, (xs, ys) in users.items()}
        content = {"users": list(users), "num_samples": [len(ys) for _, ys in users.values()], "user_data": data}
        (tmp_path / split / "all_data_0.json").write_text(json.dumps(content))

    names = tuple(map(str, range(62)))
    write("train", {"f0": ([1.0, 0.5], [3, 61]), "f1": ([0.0], [7])})
    write("test", {"f0": ([1.0], [3])})
    decoded = leaf.read_femnist(tmp_path, names)
    assert decoded.writers == [[0, 1], [2]]
    assert decoded.x_train[:, 0, 3, 3].tolist() == [255, 128, 0]
    assert decoded.y_train.tolist() == [3, 61, 7]
    write("test", {"f0": ([1.0], [3, 4])})
    with pytest.raises(DataError, match="1 images and 2 labels"):
        leaf.read_femnist(tmp_path, names)
    write("test", {"f0": ([1.0], [62])})
    with pytest.raises(DataError, match=r"0\.\.61"):
        leaf.read_femnist(tmp_path, names)


def test_agnews_csv(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text('"3","Oil up","Oil, ""black"" gold\\again"\n"1","War","the war"\n')
    (tmp_path / "test.csv").write_text('"4","New chip","the chip"\n')
    (tmp_path / "classes.txt").write_text("World\nSports\nBusiness\nSci/Tech\n")
    decoded = text.read_agnews_csv(tmp_path, ("a", "b", "c", "d"), length=8)
    assert decoded.class_names == ("World", "Sports", "Business", "Sci/Tech")
    assert decoded.y_train.tolist() == [2, 0]
    assert decoded.y_test.tolist() == [3]
    # oil and war occur twice; then again, black, gold, the, up by the alphabet.
    assert decoded.x_train.tolist() == [[2, 8, 2, 5, 6, 4, 0, 0], [3, 7, 3, 0, 0, 0, 0, 0]]
    assert decoded.x_test.tolist() == [[1, 1, 7, 1, 0, 0, 0, 0]]
    assert decoded.vocabulary == 9
    (tmp_path / "test.csv").write_text('"5","New chip","the chip"\n')
    with pytest.raises(DataError, match="line 1"):
        text.read_agnews_csv(tmp_path, ("a", "b", "c", "d"))


def test_newsgroups_tab(tmp_path: Path) -> None:
    head = "Category\tText\nd\tstring\nclass\t\n\n"
    (tmp_path / "20newsgroups-train.tab").write_text(head + "sci.med\tDoctor don't doctor\nalt.fun\thaha\n")
    (tmp_path / "20newsgroups-test.tab").write_text(head + "alt.fun\tdoctor who\n")
    decoded = text.read_newsgroups_tab(tmp_path, length=3)
    assert decoded.class_names == ("alt.fun", "sci.med")
    assert decoded.y_train.tolist() == [1, 0]
    assert decoded.x_train.tolist() == [[2, 3, 2], [4, 0, 0]]
    assert decoded.x_test.tolist() == [[2, 1, 0]]


def test_the_vocabulary_is_bounded_and_learnt_from_training_alone() -> None:
    train = [(" ".join(f"w{n}" for n in range(25_000)), 0), ("w7 w7", 1)]
    decoded = text.tokenise(train, [("w7 test", 0)], ("a", "b"), 4)
    assert decoded.vocabulary == 20_002
    assert decoded.x_test.tolist() == [[2, 1, 0, 0]]


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
