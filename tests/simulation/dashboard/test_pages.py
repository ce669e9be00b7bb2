"""The dashboard's pages are the report's, and whatever cannot be shown is a sentence in one."""

from __future__ import annotations

import json
import re
import shutil
from logging import FileHandler
from pathlib import Path

import pytest

from fl_config.held_files import held
from simulation.dashboard.listing import Listing
from simulation.dashboard.pages import ABSENT, Pages
from tests.runs.made_runs import write_run
from tests.simulation.dashboard.test_listing import make_sweep


def pages_of(folder: Path) -> Pages:
    return Pages(Listing(folder), "runs")


def without_scripts(page: str) -> str:
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


def test_one_run_several_and_a_sweep_are_drawn_with_the_reports_pictures(tmp_path: Path) -> None:
    write_run(tmp_path / "a", rounds=4)
    write_run(tmp_path / "b", strategy="fedssa", rounds=4)
    make_sweep(tmp_path / "s")
    pages = pages_of(tmp_path)
    for ids, title in ((["a"], "fedavg"), (["a", "b"], "2 configurations compared"), (["s"], "s")):
        code, page = pages.view(ids)
        assert code == 200 and f"<h1>{title}</h1>" in page
        assert 'id="figure-0"' in page and "All runs" in page and "connect-src" in page
        assert pages.view(ids)[1] is page  # kept for the next reader
    assert "6 of 6 runs finished, 24 of 24 rounds" in pages.view(["s"])[1]


def test_a_page_changes_with_the_files_and_with_the_state(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", rounds=4, finished=False)
    pages, log = pages_of(tmp_path), held(FileHandler(folder / "log.txt"))
    tokens = [pages.view_token(["a"])]
    assert "round 4 of 4" in without_scripts(pages.view(["a"])[1]) and "Running" in pages.view(["a"])[1]
    with (folder / "metrics.jsonl").open("a") as lines:
        lines.write('{"round": 5, "global/accuracy": 0.9}\n')
    tokens.append(pages.view_token(["a"]))
    assert "round 5 of 4" in without_scripts(pages.view(["a"])[1])
    log.close()
    tokens.append(pages.view_token(["a"]))
    assert "Failed" in without_scripts(pages.view(["a"])[1])
    shutil.rmtree(folder)
    tokens.append(pages.view_token(["a"]))
    assert tokens[-1] == ABSENT and len(set(tokens)) == 4
    code, page = pages.view(["a"])
    assert code == 404 and "There is no run a in runs" in page


@pytest.mark.parametrize("name", ["../outside", "/etc", "a/../../outside", "..", ".", "a/inside", "", "%2e%2e", "a\0"])
def test_only_what_is_listed_can_be_named(tmp_path: Path, name: str) -> None:
    write_run(tmp_path / "outside", rounds=2, strategy="secret")
    write_run(tmp_path / "runs" / "a", rounds=2)
    write_run(tmp_path / "runs" / "a" / "inside", rounds=2, strategy="secret")
    code, page = pages_of(tmp_path / "runs").view([name])
    assert code == 404 and "secret" not in page


def test_half_written_and_foreign_files_are_sentences(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", rounds=3)
    pages = pages_of(tmp_path)
    with (folder / "metrics.jsonl").open("a") as lines:
        lines.write('{"round": 4, "glo')
    assert 'id="figure-0"' in pages.view(["a"])[1]
    for name, content, said in (
        ("partition.json", "{", "is not valid JSON"),
        ("partition.json", "{}", "has no list"),
        ("metrics.jsonl", "nonsense\n{}\n", "line 1 is not valid JSON"),
        ("metrics.jsonl", '{"round": 1, "cohort": 7, "weights": 3}\n', "cannot be drawn"),
        ("config.toml", "strategy =", "is not valid TOML"),
    ):
        before = (folder / name).read_text()
        (folder / name).write_text(content)
        code, page = pages.view(["a"])
        assert code == 200 and said in without_scripts(page), name
        assert "Traceback" not in page
        (folder / name).write_text(before)


def test_a_folder_that_vanishes_while_it_is_read_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "a", rounds=2)

    def gone(folders: list[Path]) -> None:
        raise FileNotFoundError(2, "No such file or directory", "a/metrics.jsonl")

    monkeypatch.setattr("simulation.dashboard.pages.read_runs", gone)
    assert "it may just have been removed" in pages_of(tmp_path).view(["a"])[1]


def test_the_list_embeds_its_rows_as_data_only(tmp_path: Path) -> None:
    attack = "</script><script>alert(1)</script>"
    write_run(tmp_path / "a", rounds=2, strategy=attack)
    page = pages_of(tmp_path).runs_page()
    assert "<script>alert" not in page
    found = re.search(r'id="rows">(.*?)</script>', page)
    assert found is not None
    (row,) = json.loads(found[1])
    assert (row["strategy"], row["state"], row["rounds"]) == (attack, "finished", 2)
