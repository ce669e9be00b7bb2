"""What a run folder must have so that it can predict, and sentences for one that has not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import fedloom
from fl_config.errors import ConfigError
from fl_runs.prediction import KeptRun
from fl_runs.reading import RunFolderError
from tests.fl_runs.prediction.small_runs import small_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fedloom.Run:
    return small_run(tmp_path_factory.mktemp("kept") / "run", strategy="fedper")


def test_clients_are_named_as_users_name_them(run: fedloom.Run) -> None:
    kept = KeptRun.open(run.folder)
    assert kept.clients == [0, 1, 2, 3]
    assert kept.client("2") == kept.client(2) == 2
    with pytest.raises(ConfigError, match="There is no client '7' in the run. Its clients are 0, 1, 2, 3."):
        kept.client(7)


def test_a_method_without_personal_models_has_none(tmp_path: Path) -> None:
    plain = KeptRun.open(small_run(tmp_path / "run", strategy="fedavg").folder)
    with pytest.raises(ConfigError, match="fedavg gives its clients no models of their own: leave --client out"):
        plain.client(1)


def test_folders_that_cannot_predict(run: fedloom.Run, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"is not a run folder: it has no config\.toml"):
        KeptRun.open(tmp_path)
    copy = Path(shutil.copytree(run.folder, tmp_path / "copy"))
    (copy / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"has no model\.safetensors: the file is lost"):
        KeptRun.open(copy)
    summary = json.loads((copy / "summary.json").read_text())
    (copy / "summary.json").write_text(json.dumps({**summary, "finished": False}))
    with pytest.raises(
        ConfigError, match=r"is not finished \(round 2 of 2\): go on with `fedloom run --resume .*copy`"
    ):
        KeptRun.open(copy)


def test_a_run_of_before_data_cards_asks_its_data(run: fedloom.Run, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run.folder, tmp_path / "copy"))
    card = KeptRun.open(copy).card
    (copy / "data.json").unlink()
    assert KeptRun.open(copy).card == card


def test_data_that_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7},{'ab'[i % 2]}" for i in range(40)]
    Path("table.csv").write_text("\n".join(["number,kind", *rows]) + "\n")
    options = {"dataset": "csv:table.csv", "label": "kind", "partition": "iid", "clients": 2, "model": "linear"}
    run = small_run(Path("run"), **options)
    Path("table.csv").unlink()
    with pytest.raises(ConfigError, match="The data of the run, 'csv:table.csv', cannot be had from here .*--data"):
        run.predict()
    Path("new.csv").write_text("number\n3\n")
    assert len(run.predict("csv:new.csv")) == 1


def test_a_private_head_needs_no_data_but_a_fine_tuning_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7},{'ab'[i % 2]},{('north', 'south')[i % 4 > 1]}" for i in range(60)]
    Path("table.csv").write_text("\n".join(["number,kind,site", *rows]) + "\n")
    options = {"dataset": "csv:table.csv", "label": "kind", "partition": "column:site", "model": "mlp:4"}
    own = {name: small_run(Path(name), strategy=name, clients=10, **options) for name in ("fedper", "fedbabu")}
    Path("new.csv").write_text("number\n3\n")
    before = own["fedper"].predict("csv:new.csv", client="south")
    Path("table.csv").unlink()
    Path("fedper").rename("moved")
    assert fedloom.load("moved").predict("csv:new.csv", client="south").equals(before)
    with pytest.raises(ConfigError, match="This needs the data of client south, which are not here"):
        own["fedbabu"].predict("csv:new.csv", client="south")
