"""A run at a glance: its state, its last figure, and sentences for whatever is wrong with it."""

from __future__ import annotations

import json
from logging import FileHandler
from pathlib import Path

import pytest

from fl_config.held_files import held
from simulation.dashboard.glance import TAIL, glance, last_lines, signature
from tests.runs.made_runs import MakeRun


def test_a_finished_run_is_told_by_its_summary(make_run: MakeRun) -> None:
    folder = make_run(rounds=3)
    summary = json.loads((folder / "summary.json").read_text()) | {"final": {"round": 3, "global/accuracy": 0.5}}
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "metrics.jsonl").unlink()  # never looked at
    seen = glance(folder)
    assert (seen.state, seen.rounds, seen.planned, seen.figure(), seen.problem) == ("finished", 3, 3, 0.5, "")
    assert (seen.record.strategy, seen.record.seed) == ("fedavg", 0)


def test_a_run_goes_on_while_its_log_is_held_and_has_failed_without_a_word_after_that(make_run: MakeRun) -> None:
    folder = make_run(rounds=3, finished=False)
    log = held(FileHandler(folder / "log.txt"))
    with (folder / "metrics.jsonl").open("a") as lines:
        lines.write('{"round": 4, "global/acc')
    seen = glance(folder)
    assert (seen.state, seen.rounds) == ("running", 3)
    assert seen.figure() == pytest.approx(last_lines(folder / "metrics.jsonl")[-1]["global/accuracy"])
    log.close()
    ended = glance(folder)
    assert ended.state == "failed" and "--resume" in ended.problem


def test_a_stopped_run_has_a_summary_and_one_that_was_refused_an_error_in_its_log(make_run: MakeRun) -> None:
    folder = make_run(rounds=3, finished=False)
    (folder / "summary.json").write_text(json.dumps({"finished": False, "rounds": 2, "final": None}))
    assert (glance(folder).state, glance(folder).rounds) == ("stopped", 2)
    (folder / "log.txt").write_text("2026-01-01 00:00:00,000 ERROR the run ended: No client came.\n")
    assert (glance(folder).state, glance(folder).problem) == ("failed", "the run ended: No client came.")


@pytest.mark.parametrize("name", ["config.toml", "summary.json"])
@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[1]"])
def test_a_broken_file_is_a_sentence(make_run: MakeRun, name: str, content: bytes) -> None:
    folder = make_run(rounds=2)
    (folder / name).write_bytes(content)
    seen = glance(folder)
    if (name, content) in (("config.toml", b"{"), ("config.toml", b"[1]")):
        assert seen.state == "finished"  # none of the options that a list shows is told, and nothing else is asked for
    else:
        assert seen.state == "unreadable" and seen.problem.startswith("run") and seen.problem.endswith(".")


def test_a_folder_that_vanishes_is_a_sentence(tmp_path: Path) -> None:
    seen = glance(tmp_path / "gone")
    assert seen.state == "unreadable" and seen.problem == "gone cannot be read: No such file or directory."
    assert seen.figure() is None and seen.rounds == 0
    assert set(signature(tmp_path / "gone")) == {(0, 0)}


def test_options_that_json_cannot_read_are_parsed_as_toml(make_run: MakeRun) -> None:
    folder = make_run(rounds=2)
    (folder / "config.toml").write_text("strategy = 'it''s'\n".replace("''", "") + "rounds = 1_000\n[set]\nseed = 9\n")
    assert glance(folder).record.config == {"strategy": "its", "rounds": 1000}


def test_the_last_line_and_the_last_figure_are_found_from_the_end(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert last_lines(path) == []
    lines = [
        {"round": n, "weights": [0.123456] * 2000} | ({"global/accuracy": n / 100} if n % 5 == 0 else {})
        for n in range(60)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "not a line\n[1]\n")
    assert path.stat().st_size > 2 * TAIL
    assert [line["round"] for line in last_lines(path)] == [55, 59]
