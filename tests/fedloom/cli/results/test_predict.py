"""`fedloom predict` as a user meets it: the figures of the run, a file of predictions, one sentence for every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from fedloom.cli.main import main
from tests.fedloom.cli.command_line import SMALL, fails


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of a shared model, of private heads and of clusters."""
    place = tmp_path_factory.mktemp("runs")
    for strategy in ("fedavg", "fedper", "fedcuau", "fedssa"):
        assert main(["run", "--strategy", strategy, *SMALL, "--out", str(place / strategy)]) == 0
    return place


def last(run: Path) -> dict[str, object]:
    return dict(json.loads((run / "metrics.jsonl").read_text().splitlines()[-1]))


@pytest.mark.parametrize("strategy", ["fedavg", "fedcuau", "fedssa"])
def test_the_accuracy_of_the_last_record(folder: Path, strategy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(folder / strategy)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"355 samples, predicted by the global model of {strategy}"
    assert lines[1].startswith(f"accuracy {last(folder / strategy)['global/accuracy']!r}, loss ")
    assert lines[2].split()[:4] == ["sample", "prediction", "label", "probability_0"]
    assert lines[-1] == "... and 345 more; --out FILE writes all."


@pytest.mark.parametrize("strategy", ["fedper", "fedcuau"])
def test_the_accuracy_of_a_clients_own_model(folder: Path, strategy: str, capsys: pytest.CaptureFixture[str]) -> None:
    record = last(folder / strategy)
    for client, accuracy in enumerate(record["personal/client_accuracy"]):  # type: ignore[arg-type, var-annotated]
        assert main(["predict", str(folder / strategy), "--client", str(client)]) == 0
        told = capsys.readouterr().out
        assert f"client {client}'s own model\naccuracy {accuracy!r}, " in told


def test_a_file_of_predictions(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "predictions.csv"
    assert main(["predict", str(folder / "fedavg"), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"Wrote 355 predictions to {out}."
    table = pd.read_csv(out)
    assert table["sample"].tolist() == list(range(355))
    assert (table["prediction"] == table["label"]).mean() == pytest.approx(last(folder / "fedavg")["global/accuracy"])
    pixels = tmp_path / "pixels.csv"
    pixels.write_text("\n".join([",".join(f"p{place}" for place in range(64)), ",".join(["7"] * 64)]) + "\n")
    assert main(["predict", str(folder / "fedavg"), "--data", f"csv:{pixels}"]) == 0
    assert "1 samples" in capsys.readouterr().out


def test_mistakes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, taken = str(folder / "fedavg"), tmp_path / "taken.csv"
    taken.write_text("mine")
    for arguments, sentence in (
        (["predict", str(tmp_path)], "is not a run folder"),
        (["predict", run, "--out", str(taken)], "is already there: delete it, or choose another --out"),
        (["predict", run, "--out", str(taken / "below.csv")], "cannot be made"),
        (["predict", run, "--data", "csv:missing.csv"], "names no file that exists"),
        (["predict", run, "--data", "missing.csv"], "does not say what to predict"),
        (["predict", run, "--client", "1"], "gives its clients no models of their own"),
        (["predict", str(folder / "fedper")], "say whose with --client (0, 1, 2, ...)"),
        (["predict", str(folder / "fedper"), "--client", "north"], "There is no client 'north' in the run"),
    ):
        assert sentence in fails(capsys, *arguments)
    assert taken.read_text() == "mine"
