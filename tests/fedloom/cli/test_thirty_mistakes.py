"""Wrong commands of every kind: each gets one sentence and exit code 2, and whatever was there before is there afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.fedloom.cli.command_line import SMALL, fails

NORMED = "from torch import nn\ndef net(): return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Linear(8, 10))\n"
TABLE = "a,b,site,y\n" + "".join(f"{row},{row % 3},{'north' if row % 2 else 'south'},{row % 2}\n" for row in range(40))
NAMED = ["--dataset", "csv:own.csv", "--label", "y", "--partition", "column:site"]

# What was typed, and words that must be in the answer.
STRATEGIES = [
    (["run", "--strategy", "fedavgg"], ["no strategy 'fedavgg'; did you mean 'fedavg'?"]),
    (["run", "--strategy", "fedopt"], ["no strategy 'fedopt'; did you mean 'fedadam'?"]),
    (["run", "--strategy", "feddyn+discoo"], ["no plug-in 'discoo'; did you mean 'disco'?"]),
    (["run", "--strategy", "fedavg+disco+ssa"], ["two parts for the weighting", "'disco'", "'ssa'"]),
    (["run", "--strategy", "fedavg+asd+asd"], ["'asd' twice"]),
    (["run", "--strategy", "fedavg,fedprox"], ["no strategy 'fedavg,fedprox'"]),
    (["run", "--strategy", " "], ["'strategy'"]),
    (["run", "--strategy", "fedprox", "--set", "prox.mu=nan"], ["'mu'", "finite number"]),
    (["run", "--strategy", "fedprox", "--set", "prox.mu=inf"], ["'mu'", "finite number"]),
    (["run", "--strategy", "fedadam", "--set", "adam.learning_rate=1"], ["did you mean 'lr'?"]),
    (["run", "--set", "prox.mu=0.1"], ["'prox.mu'", "does not use"]),
    (["run", "--strategy", "scaffold", "--dp-clip", "1"], ["--dp-clip", "'scaffold'"]),
    (["strategies", "feddino"], ["no strategy 'feddino'"]),
    (["strategies", "fedavg+disc"], ["no plug-in 'disc'; did you mean 'disco'?"]),
    (["strategies", "--plugin", "nowhere.py"], ["nowhere.py"]),
]
FLAGS = [
    (["run", "--learning-rate", "0.1"], ["no flag '--learning-rate'; did you mean '--lr'?"]),
    (["run", "--alpha", "0.5"], ["no flag '--alpha'; did you mean '--partition dirichlet:0.5'?"]),
    (["run", "--batch_size", "8"], ["no flag '--batch_size'; did you mean '--batch-size'?"]),
    (["run", "--round", "3"], ["no flag '--round'; did you mean '--rounds'?"]),
    (["run", "fedavg"], ["the word 'fedavg' has no place"]),
    (["run", "--mixed-precision", "yes"], ["the word 'yes' has no place"]),
    (["run", "--preset", "feddisco-table2"], ["no preset 'feddisco-table2'", "`fedloom presets` lists them all"]),
    (["sweep", "--strategies", "fedavg", "--preset", "x"], ["no preset 'x'", "`fedloom presets` lists them all"]),
    (["run", "--dashboard=yes"], ["--dashboard", "'yes'"]),
    (["run", "--rounds"], ["--rounds", "expected one argument"]),
    (["run", "--lr", "nan"], ["'lr'", "finite number"]),
    (["run", "--lr", "1e999"], ["'lr'", "finite number"]),
    (["run", "--lr", "0,1"], ["'lr'", "number"]),
    (["run", "--batch-size", "2.5"], ["'batch-size'", "integer"]),
    (["run", "--clients", "0"], ["'clients'", "1"]),
    (["run", "--fraction", "50%"], ["'fraction'", "number"]),
    (["run", "--seed", "-1"], ["'seed'", "0"]),
    (["run", "--patience", "-1"], ["'patience'", "greater than or equal to 0"]),
    (["run", "--patience", "often"], ["'patience'", "integer"]),
    (["run", "--stop-at", "soon"], ["'stop-at'", "number"]),
    (["run", "--normalise", "perhaps"], ["'normalise'", "'auto'"]),
    (["sweep"], ["--strategies"]),
    (["predict"], ["RUN"]),
    (["deploy", "sumbit"], ["no command 'sumbit'; did you mean 'submit'?"]),
    (["deploy", "logs", "seven"], ["no ca.crt in federation", "give --keys"]),
    (["start"], ["no command 'start'"]),
]
DATA = [
    (["run", "--dataset", "cifar"], ["no dataset 'cifar'; did you mean 'cifar10'?"]),
    (["run", "--dataset", "fmnist"], ["no dataset 'fmnist'; did you mean 'fashion-mnist'?"]),
    (["data", "fetch", "FashionMNIST2"], ["did you mean 'fashion-mnist'?"]),
    (["data", "fetch"], ["Name the data sets"]),
    (["run", "--dataset", "csv:nowhere.csv", "--label", "y"], ["nowhere.csv"]),
    (["run", "--dataset", "csv:own.csv", "--label", "z"], ["'z'", "own.csv"]),
    (["run", "--dataset", "csv:full", "--label", "y"], ["full"]),
    (["run", "--dataset", "npz:afile"], ["afile"]),
    (["run", "--dataset", "folder:full"], ["full"]),
    (["run", "--partition", "file:nowhere.json"], ["nowhere.json"]),
    (["run", "--partition", "pathological:2"], ["did you mean shards:CLASSES?"]),
    (["run", "--target", "skew:north"], ["'north'", "client's number"]),
    (["run", *SMALL, "--target", "skew:99"], ["no client 99", "0..3"]),
    (["run", *NAMED, "--engine", "inline", "--target", "skew:east"], ["no client east", "north, south"]),
    (["run", *NAMED, "--clients", "5", "--engine", "inline"], ["--clients is 5", "2"]),
    (["partition", "--plugin", "nowhere.py"], ["nowhere.py"]),
    (["partition", "--plugin", "broken.py"], ["broken.py"]),
    (
        ["partition", "--dataset", "digits", "--out", "afile/p.html"],
        ["afile", "a file stands where a folder is needed"],
    ),
    (
        ["partition", "--dataset", "digits", "--out", "full.png/"],
        ["full.png", "a folder stands where a file is needed"],
    ),
    (
        ["run", *SMALL, "--model", "normed.py:net", "--partition", "iid", "--batch-size", "60"],
        ["choose --batch-size 61"],
    ),
    (["run", "--task", "forecasting"], ["no task 'forecasting'"]),
    (["run", "--metrics", "acuracy"], ["did you mean 'accuracy'?"]),
]
FILES = [
    (["run", *SMALL, "--out", "afile"], ["afile", "a file stands where a folder is needed"]),
    (["run", *SMALL, "--out", "afile/run"], ["afile", "a file stands where a folder is needed"]),
    (["run", *SMALL, "--out", "full"], ["full", "choose another --out"]),
    (["run", *SMALL, "--out", "x" * 300], ["choose a shorter name"]),
    (["run", *SMALL, "--out", "/proc/run"], ["/proc/run", "No such file or directory"]),
    (
        ["run", *SMALL, "--strategy", "scaffold", "--state-folder", "afile"],
        ["afile", "a file stands where a folder is needed"],
    ),
    (["run", "--config", "broken.toml"], ["broken.toml"]),
    (["run", "--config", "bytes.toml"], ["bytes.toml"]),
    (["run", "--config", "full"], ["full", "Is a directory"]),
    (["run", "--config", "other.toml"], ["no option 'learning_rate'; did you mean 'lr'?"]),
    (["run", "--config", "listed.toml"], ["rounds"]),
    (["run", "--resume", "full"], ["no run to resume in full"]),
    (["run", "--resume", "afile"], ["no run to resume in afile"]),
    (["run", *SMALL, "--init", "afile"], ["afile", "safetensors"]),
    (["report", "nowhere"], ["nowhere"]),
    (["report", "afile"], ["afile"]),
    (["report", "full"], ["full"]),
    (["report"], ["DIR"]),
    (["predict", "nowhere"], ["nowhere"]),
    (["predict", "full"], ["full"]),
]
NOISED = ["run", "--dp", "central", "--dp-clip", "1", "--dp-noise", "1"]
PRIVACY = [
    (["run", "--dp", "both"], ["'dp'", "'local' or 'central'", "'both'"]),
    (["run", "--dp", "central", "--dp-noise", "1"], ["needs --dp-clip", "e.g. --dp-clip 1"]),
    (["run", "--dp-clip", "-1"], ["'dp-clip'", "greater than or equal to 0"]),
    (["run", "--dp-clip", "far"], ["'dp-clip'", "number", "'far'"]),
    (["run", "--dp", "central", "--dp-clip", "1"], ["how much noise", "e.g. --dp-noise 1", "e.g. --dp-budget 8"]),
    ([*NOISED[:-1], "-1"], ["'dp-noise'", "greater than or equal to 0"]),
    ([*NOISED[:-1], "inf"], ["'dp-noise'", "finite number"]),
    ([*NOISED, "--dp-budget", "-1"], ["'dp-budget'", "greater than or equal to 0"]),
    ([*NOISED, "--dp-budget", "0.1"], ["One round costs epsilon", "raise the budget"]),
    ([*NOISED, "--dp-delta", "0"], ["'dp-delta'", "greater than 0"]),
    ([*NOISED, "--dp-delta", "1"], ["'dp-delta'", "less than 1"]),
    ([*NOISED, "--dp-epsilon", "2"], ["--dp-epsilon belongs to --dp local", "takes --dp-noise, or --dp-budget"]),
    (["run", "--dp-clip", "1", "--dp-epsilon", "0"], ["'dp-epsilon'", "greater than 0"]),
    (["run", "--dp-delta", "1e-4"], ["--dp-delta has no effect", "or leave it out"]),
    (["run", "--sampler", "poison"], ["'sampler'", "'poisson'", "'poison'"]),
    (["run", "--sampler", "poisson"], ["--sampler poisson is the secret sampling of --dp central", "bernoulli"]),
    ([*NOISED, "--sampler", "poisson", "--fraction", "0.5"], ["'size'", "take fedavg+uniform"]),
    (["run", "--secure-threshold", "0.8"], ["--secure-threshold has no effect without --secure-aggregation"]),
    (["run", "--secure-aggregation", "--secure-threshold", "0.5"], ["'secure-threshold'", "greater than 0.5"]),
    (["run", "--secure-aggregation", "--secure-threshold", "2"], ["'secure-threshold'", "less than or equal to 1"]),
    (["run", "--secure-aggregation", "--clients", "2"], ["3 or more clients", "raise --clients"]),
    (["run", "--secure-aggregation", "--strategy", "fedssa"], ["'ssa' weighs clients by what they learned"]),
]
MISTAKES = [*STRATEGIES, *FLAGS, *DATA, *FILES, *PRIVACY]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with things that may be taken for others."""
    monkeypatch.chdir(tmp_path)
    for name in ("full", "full.png"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes.txt").write_text("mine")
    (tmp_path / "afile").write_text("mine")
    (tmp_path / "own.csv").write_text(TABLE)
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "normed.py").write_text(NORMED)
    (tmp_path / "broken.toml").write_text("lr = = 1\n")
    (tmp_path / "bytes.toml").write_bytes(b"lr = \xff\xfe\n")
    (tmp_path / "other.toml").write_text("learning_rate = 1\n")
    (tmp_path / "listed.toml").write_text("rounds = [1, 2]\n")
    np.savez(tmp_path / "own.npz", x_train=np.zeros((2, 2)))
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize(("arguments", "words"), MISTAKES, ids=[" ".join(given)[:60] for given, _ in MISTAKES])
def test_a_mistake_is_one_sentence_and_loses_nothing(
    arguments: list[str], words: list[str], place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(place)
    starts = arguments[0] == "run" and "--engine" not in arguments
    told = fails(capsys, *arguments, *(["--engine", "inline"] if starts and len(arguments) > 2 else []))
    assert (
        told.startswith("fedloom")
        and told.rstrip()[-1] in ".?)"
        and all(word.lower() in told.lower() for word in words)
    ), told
    assert files(place) == before
