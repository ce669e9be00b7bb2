"""Predictions of runs: the figures of the last record again, new files read as training read its own, rows with names."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import fedloom
from fl_data import DataError
from fl_data.store import load
from fl_runs.prediction import KeptRun, predict
from tests.fl_runs.prediction.small_runs import last, small_run

Train = Callable[..., fedloom.Run]


@pytest.mark.parametrize("strategy", ["fedavg", "fedcuau", "fedssa", "scaffold+disco", "fedadam", "moon"])
def test_on_the_test_set_it_has_the_figures_of_the_last_record(strategy: str, tmp_path: Path) -> None:
    run = small_run(tmp_path / "run", strategy=strategy, target="imbalanced:4" if strategy == "fedssa" else "uniform")
    predicted = predict(KeptRun.open(run.folder))
    assert predicted.scores["accuracy"] == last(run, "global/accuracy")
    assert predicted.scores["loss"] == last(run, "global/loss")
    assert f"accuracy {last(run, 'global/accuracy')!r}, " in predicted.told()[1]
    frame = predicted.frame()
    assert float((frame["prediction"] == frame["label"]).mean()) == pytest.approx(last(run, "global/accuracy"))
    likely = frame.filter(like="probability_")
    assert np.allclose(likely.sum(axis=1), 1) and list(likely) == [f"probability_{digit}" for digit in range(10)]
    assert (likely.idxmax(axis=1) == "probability_" + frame["prediction"]).all()


def test_weights_of_each_sample(tmp_path: Path) -> None:
    """A run that kept its clients' models learns weights for each sample; the global model's figures stand beside."""
    run = small_run(tmp_path / "run", strategy="fedssa", set={"ssa.mode": "sample_wise"})
    predicted = predict(KeptRun.open(run.folder))
    again = predict(KeptRun.open(run.folder))
    assert predicted.frame().equals(again.frame())
    assert predicted.beside == (
        f"the global model of fedssa: accuracy {last(run, 'global/accuracy')!r}, loss {last(run, 'global/loss')!r}"
    )
    weights = predicted.frame().filter(like="weight_")
    assert list(weights) == [f"weight_{client}" for client in range(4)] and np.allclose(weights.sum(axis=1), 1)
    assert weights.std().max() > 0.01, "every sample has the same weights"
    frame = predicted.frame()
    assert predicted.scores["accuracy"] == pytest.approx((frame["prediction"] == frame["label"]).mean())


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """Runs in a folder with a table of fruit: a number, a category, three classes, a price and two marks."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    with Path("fruit.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["weight", "colour", "kind", "price", "sweet", "red", "farm"])
        for number in range(150):
            kind = number % 3
            colour = ["red", "green", "yellow"][kind if random.random() < 0.8 else 0]
            weight = 100 + 40 * kind + random.normal(0, 10)
            marks = (int(kind == 2), int(colour == "red"))
            rows.writerow(
                [weight, colour, ["apple", "pear", "quince"][kind], 2 * kind + 1.5, *marks, f"farm{number % 2}"]
            )

    def run(**options: Any) -> fedloom.Run:
        table = {"dataset": "csv:fruit.csv", "partition": "iid", "clients": 2, "rounds": 3, "batch_size": 10}
        return small_run(Path("run"), **{**table, "model": "mlp:8", **options})

    return run


def test_a_new_table_is_read_as_the_runs_own(train: Train) -> None:
    run = train(label="kind", partition="column:farm", strategy="fedper")
    fruit = pd.read_csv("fruit.csv")
    features = ["red", "colour", "sweet", "weight", "price"]  # in another order, and with a column that the run had not
    new = fruit[features].iloc[[2, 0, 1]].assign(shelf=["x", "y", "z"])
    new.to_csv("new.csv", index=False)
    frame = run.predict("csv:new.csv", client="farm1")
    assert list(frame) == ["sample", "prediction", "probability_apple", "probability_pear", "probability_quince"]
    assert frame.equals(run.predict(new, client="farm1")), "a frame and its file are read alike"
    everything = run.predict(fruit, client="farm1").iloc[[2, 0, 1]].reset_index(drop=True)
    assert np.allclose(frame.filter(like="prob"), everything.filter(like="prob"))
    assert "label" in everything and "label" not in frame
    with pytest.raises(ValueError, match="There is no client 'farm3' in the run; did you mean 'farm"):
        run.predict(new, client="farm3")


def test_unknown_categories_and_missing_values(train: Train) -> None:
    run = train(label="kind")
    model = run.load_model()
    rows = pd.DataFrame(
        {"weight": [120.0, None], "colour": ["violet", None], "price": 1.0, "sweet": 0, "red": 0, "farm": "farm0"}
    )
    assert run.predict(rows)["prediction"].notna().all()
    card = KeptRun.open(run.folder).card
    assert card.encoding is not None
    names = card.encoding.feature_names
    import pyarrow as pa

    x = card.encoding.apply(pa.Table.from_pandas(rows))
    assert not x[:, [names.index(f"colour={colour}") for colour in ("red", "green", "yellow")]].any()
    assert x[1, names.index("weight")] == 0, "a missing number counts as the mean"
    assert model is not None


def test_numbers_to_predict(train: Train) -> None:
    one = train(label="price", task="regression", lr=0.01)
    predicted = predict(KeptRun.open(one.folder))
    assert predicted.scores["rmse"] == last(one, "global/rmse")
    frame = predicted.frame()
    assert list(frame) == ["sample", "prediction", "label"]
    assert float(((frame["prediction"] - frame["label"]) ** 2).mean() ** 0.5) == pytest.approx(last(one, "global/rmse"))


def test_several_numbers_and_several_labels(train: Train) -> None:
    two = train(label="price,weight", task="regression", lr=1e-5)
    assert list(two.predict()) == ["sample", "prediction_price", "prediction_weight", "label_price", "label_weight"]


def test_marks(train: Train) -> None:
    run = train(label="sweet,red", task="multilabel")
    predicted = predict(KeptRun.open(run.folder))
    assert predicted.scores["macro_f1"] == last(run, "global/macro_f1")
    frame = predicted.frame()
    assert list(frame) == ["sample", "prediction", "label", "probability_sweet", "probability_red"]
    held = frame["probability_red"] > 0.5
    assert (frame["prediction"].str.split(";").map(lambda names: "red" in names) == held).all()
    assert set(frame["label"]) <= {"", "sweet", "red", "sweet;red"}


def test_wrong_tables_get_sentences(train: Train) -> None:
    run = train(label="kind")
    fruit = pd.read_csv("fruit.csv")
    with pytest.raises(DataError, match="the frame lacks the column 'weight', .* did you mean 'wheight'"):
        run.predict(fruit.rename(columns={"weight": "wheight"}))
    with pytest.raises(DataError, match="column 'weight' was expected to hold numbers"):
        run.predict(fruit.assign(weight="heavy"))
    with pytest.raises(DataError, match="'csv:no.csv' names no file that exists"):
        run.predict("csv:no.csv")
    with pytest.raises(DataError, match="did you mean 'csv'"):
        run.predict("cvs:fruit.csv")
    with pytest.raises(DataError, match="The array has features of shape .*, but csv:.* has features of shape"):
        run.predict(np.zeros((2, 99)))
    assert "label" not in run.predict(fruit.assign(kind=None)), "labels that are still to be found out"


def test_arrays_pictures_and_plain_numbers(tmp_path: Path) -> None:
    """The same images as an array, an npz file, a folder of files and a table of pixels."""
    run = small_run(tmp_path / "run")
    digits = load("digits")
    x, y = np.asarray(digits.x_test[:12]), digits.y_test[:12]
    expected = run.predict(x)
    np.savez(tmp_path / "new.npz", x=x, y=y)
    labelled = run.predict(f"npz:{tmp_path}/new.npz")
    assert labelled.drop(columns="label").equals(expected) and labelled["label"].tolist() == y.astype(str).tolist()
    for number, (image, label) in enumerate(zip(x, y, strict=True)):
        for folder in (tmp_path / "loose", tmp_path / "sorted" / str(label)):
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image[0]).save(folder / f"{number:02}.png")
    loose = run.predict(f"folder:{tmp_path}/loose")
    assert loose["file"].tolist() == [f"{number:02}.png" for number in range(12)]
    assert loose.drop(columns="file").equals(expected)
    by_class = run.predict(f"folder:{tmp_path}/sorted")
    assert [f"{label}/" for label in by_class["label"]] == [file[:2] for file in by_class["file"]]
    pixels = pd.DataFrame(x.reshape(12, -1)).rename(columns=lambda place: f"pixel{place}")
    pixels.assign(label=y).to_csv(tmp_path / "pixels.csv", index=False)
    assert run.predict(f"csv:{tmp_path}/pixels.csv").equals(labelled)
    for wrong, sentence in (
        (x[0], "has the shape of one sample, .*x\\[None\\] for one"),
        (x / 255.0, r"has features of shape .* \(images are uint8\)"),
        (pixels.iloc[:, :-1], "has 63 columns beside 'label', but a sample of digits has 64 numbers"),
        (pixels + 0.5, "no pixels: whole numbers from 0 to 255 are expected"),
        (pixels.assign(label="x"), "has the label 'x'"),
    ):
        with pytest.raises(DataError, match=sentence):
            run.predict(wrong)


NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self, num_classes, shape):
        super().__init__()
        self.first = nn.Linear(64, 24)
        self.norm = nn.BatchNorm1d(24)
        self.last = nn.Linear(24, num_classes)

    def forward(self, x):
        return self.last(self.norm(self.first(x.flatten(1))).relu())
"""


def test_an_own_model_from_a_folder_that_was_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("theirs", "elsewhere"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "theirs")
    Path("my_net.py").write_text(NET)
    run = small_run(Path("run"), model="my_net.py:Net", partition="iid")
    Path("my_net.py").unlink()
    moved = Path("run").rename(tmp_path / "elsewhere" / "moved")
    monkeypatch.chdir(tmp_path / "elsewhere")
    predicted = predict(KeptRun.open(moved))
    assert predicted.scores["accuracy"] == last(run, "global/accuracy")
    assert predicted.scores["loss"] == last(run, "global/loss")
    (moved / "sources" / "my_net.py").write_text(NET.replace("24", "25"))
    with pytest.raises(ValueError, match=r"The file my_net\.py cannot be read"):
        KeptRun.open(moved)


def test_texts_of_a_hugging_face_data_set(tmp_path: Path) -> None:
    import datasets  # type: ignore[import-untyped]

    words = {"good": ["fine", "lovely", "warm"], "bad": ["awful", "cold", "dull"]}
    texts = [f"a {words[kind][place % 3]} film number {place}" for place in range(30) for kind in ("good", "bad")]
    rows = datasets.Dataset.from_dict({"text": texts, "label": ["good", "bad"] * 30})
    datasets.DatasetDict({"train": rows, "test": rows.select(range(10))}).save_to_disk(tmp_path / "films")
    run = small_run(tmp_path / "run", dataset=f"hf:{tmp_path}/films", model="textcnn", partition="iid", clients=2)
    tested = run.predict()
    new = pd.DataFrame({"said": texts[:10]})
    assert run.predict(new).equals(tested.drop(columns="label"))
    assert run.predict(new.assign(label=["good", "bad"] * 5)).equals(tested)
