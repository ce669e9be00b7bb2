"""Run folders read back: whole, killed half-way, resumed, broken; and which runs are samples of one configuration."""

from __future__ import annotations

import json
import re

import pytest

from fl_config.options import changes_numbers
from fl_runs.reading import (
    LESS_IS_BETTER,
    Headline,
    RunFolderError,
    group_runs,
    headline_key,
    is_number,
    read_run,
    read_runs,
)
from fl_tasks.metrics import METRICS
from tests.runs.made_runs import MakeRun


def test_a_finished_run_is_read_whole(make_run: MakeRun) -> None:
    run = read_run(make_run(strategy="feddisco", seed=3, rounds=4))
    assert (run.name, run.strategy, run.seed, run.finished) == ("feddisco", "feddisco", 3, True)
    assert [line["round"] for line in run.metrics] == [0, 1, 2, 3, 4]
    assert run.partition is not None
    assert len(run.partition["counts"]) == 20


def test_a_half_written_last_line_and_a_missing_summary_are_an_unfinished_run(make_run: MakeRun) -> None:
    folder = make_run(rounds=3, finished=False)
    with (folder / "metrics.jsonl").open("a") as lines:
        lines.write('{"round": 4, "global/acc')
    run = read_run(folder)
    assert not run.finished
    assert run.metrics[-1]["round"] == 3


def test_rounds_repeated_after_a_resume_count_once(make_run: MakeRun) -> None:
    folder = make_run(rounds=3)
    with (folder / "metrics.jsonl").open("a") as lines:
        lines.write(json.dumps({"round": 2, "global/accuracy": 0.25}) + "\n")
    assert read_run(folder).series("global/accuracy")[2] == 0.25
    assert [line["round"] for line in read_run(folder).metrics] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("config.toml", None, "is not a run folder: it has no config.toml"),
        ("config.toml", "a = = 1", "is not valid TOML"),
        ("metrics.jsonl", '{"round": 0}\n{"rou\n{"round": 2}\n', "line 2 is not valid JSON"),
        ("metrics.jsonl", '{"round": 0}\n[1]\n{"round": 2}\n', "line 2 has no whole number 'round'"),
        ("summary.json", "{", "summary.json is not valid JSON"),
        ("summary.json", "[]", "holds a list"),
        ("partition.json", '{"class_names": ["a"], "client_ids": [0]}', "has no list 'counts'"),
        (
            "partition.json",
            '{"class_names": ["a"], "client_ids": [0], "counts": [[1, 2]]}',
            "1 rows (clients) of 1 numbers",
        ),
        ("tables.json", '{"confusion": [[1, 2]]}', "confusion must be a square"),
        ("tables.json", '{"confusion": [["a"]]}', "confusion must be a square"),
        ("tables.json", '{"calibration": [{"above": 0.5, "to": 1}]}', "calibration must be a list of bins"),
        ("tables.json", '{"calibration": {}}', "calibration must be a list of bins"),
        ("model.json", "[]", "model.json holds a list"),
    ],
)
def test_a_broken_folder_is_a_sentence(make_run: MakeRun, file: str, content: str | None, sentence: str) -> None:
    path = make_run(rounds=2) / file
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    with pytest.raises(RunFolderError, match=re.escape(sentence)):
        read_run(path.parent)


def test_runs_group_by_configuration_and_not_by_place(make_run: MakeRun) -> None:
    folders = [make_run("a", seed=1), make_run("b", seed=2, engine="inline"), make_run("c", seed=1, lr=0.5)]
    runs = read_runs([*folders, make_run("d", strategy="fedssa"), make_run("e", seed=1)])
    groups = {group.label: [run.folder.name for run in group.runs] for group in group_runs(runs)}
    assert groups == {
        "fedavg · lr=0.05 · a": ["a", "b"],
        "fedavg · lr=0.5": ["c"],
        "fedssa": ["d"],
        "fedavg · lr=0.05 · e": ["e"],
    }
    assert len({run.name for run in runs}) == 5


def test_runs_of_a_sweep_go_by_its_folder_beside_the_same_run_alone(make_run: MakeRun) -> None:
    seeds = [make_run(f"grid/fedavg-seed{seed}", seed=seed) for seed in (1, 2)]
    groups = group_runs(read_runs([*seeds, make_run("alone", seed=1)]))
    assert [group.label for group in groups] == ["fedavg · grid", "fedavg · alone"]


def test_runs_that_differ_in_where_or_how_fast_they_ran_are_one_configuration(make_run: MakeRun) -> None:
    places = {"workers": 3, "device": "cpu", "save-every": 5, "state-folder": "elsewhere", "round_timeout": 9.0}
    runs = read_runs([make_run("a", seed=1), make_run("b", seed=2, **places), make_run("c", seed=3, momentum=0.5)])
    assert [len(group.runs) for group in group_runs(runs)] == [2, 1]
    assert not any(changes_numbers(key) for key in places)
    assert all(changes_numbers(key) for key in ("lr", "seed", "disco.a", "an option of another version"))


def test_settings_are_flat_text(make_run: MakeRun) -> None:
    settings = read_run(make_run(rounds=2, disco={"a": 0.4, "target": "uniform"})).settings()
    assert settings["disco.a"] == "0.4" and settings["disco.target"] == "uniform"
    assert settings["set.disco.b"] == "0.1" and settings["strategy"] == "fedavg"
    assert settings["lr"] == "0.05"


@pytest.mark.parametrize(
    ("value", "expected"), [(1, True), (0.5, True), (True, False), (float("inf"), False), (None, False), ("1", False)]
)
def test_a_number_is_finite_and_no_truth_value(value: object, expected: bool) -> None:
    assert is_number(value) is expected


def test_tables_and_model_are_read_where_they_are(make_run: MakeRun) -> None:
    folder = make_run(rounds=2)
    assert (read_run(folder).tables, read_run(folder).model) == ({}, {})
    (folder / "tables.json").write_text('{"confusion": [[3, 1], [0, 2]]}')
    (folder / "model.json").write_text('{"name": "lenet", "parameters": 44426}')
    run = read_run(folder)
    assert (run.tables["confusion"], run.model["parameters"]) == ([[3, 1], [0, 2]], 44426)


def test_the_headline_is_in_the_summary_or_was_accuracy(make_run: MakeRun) -> None:
    folder = make_run(rounds=2)
    assert read_run(folder).headline == Headline("accuracy", "more") and not read_run(folder).says_headline
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps(summary | {"headline": {"name": "macro-f1", "better": "less"}}))
    run = read_run(folder)
    assert (run.headline, run.headline.key, run.says_headline) == (Headline("macro-f1", "less"), "macro_f1", True)


@pytest.mark.parametrize(
    ("option", "records", "headline"),
    [
        ("rmse", {}, Headline("rmse", "less")),
        ("auto", {"global/macro_f1": 0.5, "global/loss": 0.1}, Headline("macro-f1", "more")),
        ("auto", {"global/loss": 0.1, "global/accuracy": 0.5}, Headline("loss", "less")),
        ("auto", {}, Headline("accuracy", "more")),
    ],
)
def test_an_unfinished_run_goes_by_its_option_or_by_what_its_records_put_first(
    make_run: MakeRun, option: str, records: dict[str, float], headline: Headline
) -> None:
    folder = make_run(finished=False, headline=option)
    (folder / "metrics.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in ({"round": 0}, {"round": 1} | records))
    )
    assert read_run(folder).headline == headline


def test_the_first_single_number_of_an_evaluation_is_the_headline() -> None:
    assert headline_key({"round": 1, "personal/auroc": 0.5, "global/class_accuracy": [1.0], "global/r2": None}) == "r2"
    assert headline_key({"personal/client_ids": ["a"], "personal/auroc": 0.5}) == "auroc"
    assert headline_key({"round": 1, "train/loss": 0.5}) is None


def test_errors_are_known_without_torch() -> None:
    assert {"loss", *(name for name, one in METRICS.items() if one.better == "less")} == LESS_IS_BETTER
