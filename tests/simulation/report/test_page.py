"""The page as text: one file, escaped, always the same."""

from __future__ import annotations

import html
import json
import re
import time
from pathlib import Path

import pytest

from fl_runs.reading import read_run, read_runs
from simulation.report.page import embed, render, write_report
from tests.runs.made_runs import MakeRun
from tests.simulation.report.headline_runs import with_headline


def test_a_run_that_has_not_begun_is_readable_and_reported(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run(rounds=2, finished=False, partition=False)
    (folder / "metrics.jsonl").unlink()
    assert read_run(folder).metrics == []
    assert "No round was evaluated" in write_report([folder], tmp_path / "out.html").read_text()


def test_the_page_is_one_file_without_a_request_and_always_the_same(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run(rounds=3, dropped=True)
    page = write_report([folder], tmp_path / "new" / "report.html").read_text()
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(""", own)
    policy = html.unescape(own)
    assert "default-src 'none'" in policy
    assert "'unsafe-eval'" not in policy
    assert len(page) < 200_000
    assert page == write_report([folder], tmp_path / "again.html").read_text()
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["report.html"]
    assert "dirichlet:0.3" in own
    assert "set.disco.a" in own
    assert "1.39.0" in own


def test_all_text_is_escaped(make_run: MakeRun) -> None:
    attack = "</script><script>alert(1)</script>"
    runs = read_runs([make_run("a", strategy=attack, seed=1, rounds=3, model=attack), make_run("b", seed=1, rounds=3)])
    page = render(runs, title=attack)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert json.loads(str(embed({"a": attack + "&"}))) == {"a": attack + "&"}


def test_a_report_of_nothing_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one run folder"):
        write_report([], tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_long_run_makes_a_page_of_bearable_size_in_bearable_time(make_run: MakeRun, tmp_path: Path) -> None:
    folders = [make_run(f"{k}", seed=k, rounds=500, clients=100, cohort=10) for k in (1, 2)]
    began = time.monotonic()
    page = write_report(folders, tmp_path / "report.html")
    assert time.monotonic() - began < 10
    assert page.stat().st_size < 1.5e6


def test_the_page_names_headline_model_and_classes_at_zero(make_run: MakeRun) -> None:
    folders = [with_headline(make_run(name, strategy=name, rounds=3)) for name in ("fedavg", "fedssa")]
    lines = (folders[0] / "metrics.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    last["global/class_accuracy"][6] = 0.0
    (folders[0] / "metrics.jsonl").write_text("\n".join([*lines[:-1], json.dumps(last)]) + "\n")
    page = re.sub(r"<script>.*?</script>", "", render(read_runs(folders)), flags=re.DOTALL)
    assert '<th scope="col" class="number">Final macro-f1</th><th scope="col" class="number">Best macro-f1</th>' in page
    assert "Figures are the mean over seeds" in page
    assert page.count("Model: my_net.py:Net (44,426 parameters).") == 2
    assert re.findall(r"<p>(.*never predicted right.*)</p>", page) == ["fedavg: class Shirt is never predicted right."]


def test_a_page_by_accuracy_without_a_problem_has_no_warning(make_run: MakeRun) -> None:
    runs = read_runs([make_run("a", rounds=3), make_run("b", strategy="fedssa", rounds=3)])
    page = re.sub(r"<script>.*?</script>", "", render(runs), flags=re.DOTALL)
    assert 'class="warning"' not in page and "Accuracies are the mean" in page and "Model:" not in page
