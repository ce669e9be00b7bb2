"""Reading run folders, what the figures hold, and the page as text."""

from __future__ import annotations

import html
import itertools
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from fl_runs.reading import RunFolderError, RunRecord, group_runs, read_run, read_runs
from simulation.report.page import (
    HEADINGS,
    SECTIONS,
    comparison_table,
    dropped_clients,
    duration,
    embed,
    key_figures,
    pictures,
    render,
    write_report,
)

MakeRun = Callable[..., Path]


def record(strategy: str, seed: int, accuracy: dict[int, float], **config: object) -> RunRecord:
    metrics = [{"round": number, "global/accuracy": value} for number, value in accuracy.items()]
    options = {"strategy": strategy, "seed": seed, **config}
    return RunRecord(Path(f"{strategy}-{seed}"), options, metrics, {"finished": True}, None, strategy)


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


def test_a_run_that_has_not_begun_is_readable_and_reported(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run(rounds=2, finished=False, partition=False)
    (folder / "metrics.jsonl").unlink()
    assert read_run(folder).metrics == []
    assert "No round was evaluated" in write_report([folder], tmp_path / "out.html").read_text()


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


def test_seeds_become_mean_and_band() -> None:
    runs = [record("fedavg", 1, {0: 0.1, 1: 0.4, 2: 0.6}), record("fedavg", 2, {0: 0.1, 1: 0.6})]
    figure = pictures.accuracy_figure(runs)
    assert figure is not None
    band, line = figure.data
    assert list(line.x) == [0, 1]
    assert list(line.y) == pytest.approx([0.1, 0.5])
    spread = 0.2 / np.sqrt(2)
    assert list(line.customdata) == pytest.approx([0, spread], abs=1e-6)
    assert list(band.y) == pytest.approx([0.1, 0.5 + spread, 0.5 - spread, 0.1], abs=1e-6)


def test_a_single_run_is_a_line_without_a_band_and_missing_values_are_left_out() -> None:
    run = record("fedavg", 1, {0: 0.1, 1: float("nan"), 2: 0.5})
    figure = pictures.accuracy_figure([run])
    assert figure is not None
    assert len(figure.data) == 1
    assert list(figure.data[0].x) == [0, 2]


def test_a_configuration_keeps_its_colour_in_every_figure(make_run: MakeRun) -> None:
    runs = read_runs([make_run(s, strategy=s, seed=1, rounds=3) for s in ("fedavg", "fedssa", "scaffold")])
    del runs[0].metrics[1]["train/loss"], runs[0].metrics[2]["train/loss"], runs[0].metrics[3]["train/loss"]
    figures = [pictures.accuracy_figure(runs), pictures.loss_figure(runs, "train/loss"), pictures.traffic_figure(runs)]
    colours: dict[str, set[str]] = {}
    for figure in figures:
        assert figure is not None
        for trace in figure.data:
            colours.setdefault(trace.name, set()).add(trace.line.color)
    assert colours == {name: {pictures.PALETTE[i]} for i, name in enumerate(("fedavg", "fedssa", "scaffold"))}


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    dim, bright = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) + 0.05 for colour in (one, other))
    return bright / dim


@pytest.mark.parametrize("page", ["#ffffff", "#15181d"])
def test_curves_stand_out_from_the_light_and_the_dark_card(page: str) -> None:
    assert page in Path(pictures.__file__).with_name("report.css").read_text()
    assert min(contrast(colour, page) for colour in pictures.PALETTE) >= 3.0


def test_colours_differ_for_red_and_green_blind_eyes() -> None:
    # Simulation of full protanopia and deuteranopia in linear RGB (Machado, Oliveira and Fernandes, 2009).
    protan = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    deutan = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    for sight in (np.eye(3), np.array(protan), np.array(deutan)):
        points = []
        for colour in pictures.PALETTE:
            x, y, z = np.cbrt(to_xyz @ np.clip(sight @ linear(colour), 0, 1) / [0.9505, 1, 1.089])
            points.append(np.array([116 * y, 500 * (x - y), 200 * (y - z)]))
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2)) > 15


def test_weights_are_placed_by_client_and_round_and_blank_elsewhere() -> None:
    metrics = [
        {"round": 0, "global/accuracy": 0.1},
        {"round": 1, "cohort": [10, 2], "weights": [0.25, 0.75]},
        {"round": 2, "cohort": [2], "weights": [1.0]},
    ]
    figure = pictures.weights_figure(RunRecord(Path("r"), {}, metrics, {}, None, "r"))
    assert figure is not None
    cells = figure.data[0]
    assert (list(cells.x), list(cells.y)) == ([1, 2], ["2", "10"])
    assert [list(row) for row in cells.z] == [[0.75, 1.0], [0.25, None]]


def test_long_runs_average_the_weights_of_neighbouring_rounds() -> None:
    metrics = [{"round": n, "cohort": ["a"], "weights": [n % 2 * 1.0]} for n in range(1, 601)]
    figure = pictures.weights_figure(RunRecord(Path("r"), {}, metrics, {}, None, "r"))
    assert figure is not None
    assert len(figure.data[0].x) == 300
    assert set(figure.data[0].z[0]) == {0.5}


def test_traffic_adds_up(make_run: MakeRun) -> None:
    run = read_run(make_run(rounds=4, cohort=5))
    figure = pictures.traffic_figure([run])
    assert figure is not None
    up, down = figure.data
    assert list(up.x) == [0, 1, 2, 3, 4]
    assert up.y[-1] == pytest.approx(4 * 5 * 180_000 / 1e6)
    assert down.y[-1] == pytest.approx(4 * (5 * 180_000 + 900) / 1e6)


def test_seconds_stack_by_phase_for_one_run_and_average_for_several() -> None:
    metrics = [{"round": n, "seconds": {"train": float(n), "evaluate": 1.0}} for n in (1, 2, 3)]
    runs = [RunRecord(Path(s), {"strategy": s}, metrics, {}, None, s) for s in ("fedavg", "fedssa")]
    single, several = pictures.seconds_figure(runs[:1]), pictures.seconds_figure(runs)
    assert single is not None
    assert several is not None
    assert {trace.name: list(trace.y) for trace in single.data} == {"train": [1, 2, 3], "evaluate": [1, 1, 1]}
    assert {trace.name: list(trace.x) for trace in several.data} == {"train": [2, 2], "evaluate": [1, 1]}


def test_class_accuracy_is_the_last_one_with_unknown_classes_blank() -> None:
    metrics = [{"round": 0, "global/class_accuracy": [0.1, 0.2]}, {"round": 1, "global/class_accuracy": [0.5, None]}]
    figure = pictures.class_accuracy_figure([RunRecord(Path("r"), {}, [*metrics, {"round": 2}], {}, None, "r")])
    assert figure is not None
    assert list(figure.data[0].y) == [0.5, None]


def test_extra_figures_are_the_methods_own_numbers_only(make_run: MakeRun) -> None:
    figures = pictures.extra_figures([read_run(make_run(rounds=3, extra=True))])
    assert sorted(figures) == ["disco/effective_clients", "ssa/loss_cos"]
    assert pictures.extra_figures([read_run(make_run("plain", rounds=3))]) == {}


@pytest.mark.parametrize("clients", [3, 60, 61, 500, 1000])
def test_partition_keeps_every_example_on_average_from_few_to_many_clients(clients: int, tmp_path: Path) -> None:
    counts = np.random.default_rng(0).integers(0, 50, (clients, 4))
    names, ids = ["cat", "dog", "$owl$", "<b>"], list(range(clients))
    figure = pictures.partition_figure(counts.tolist(), names, ids, title="A <b>split</b>")
    sizes, cells = figure.data
    assert len(sizes.x) == min(clients, {500: 250, 1000: 250}.get(clients, clients))
    assert np.mean(sizes.y) == pytest.approx(counts.sum() / clients)
    assert len(set(sizes.x)) == len(sizes.x)
    assert cells.y[3] == "&lt;b&gt;"
    assert figure.layout.title.text == "A &lt;b&gt;split&lt;/b&gt;"
    pictures.partition_png(counts.tolist(), names, ids, tmp_path / "split.png")
    assert (tmp_path / "split.png").read_bytes().startswith(b"\x89PNG")


def test_many_clients_are_ordered_by_main_class() -> None:
    counts = np.eye(3, dtype=int)[np.arange(90) % 3] * 10
    rows, labels, ordered = pictures.arrange_partition(counts.tolist(), list(range(90)))
    assert ordered
    assert rows.argmax(axis=1).tolist() == [0] * 30 + [1] * 30 + [2] * 30
    assert [int(label) % 3 for label in labels] == [0] * 30 + [1] * 30 + [2] * 30


def test_partition_that_does_not_fit_its_clients_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="do not fit 3 clients"):
        pictures.partition_figure([[1, 2]], ["a", "b"], [0, 1, 2])


def test_comparison_table_has_mean_and_sample_deviation_of_the_runs() -> None:
    runs = [record("fedavg", 1, {0: 0.1, 5: 0.7, 6: 0.6}), record("fedavg", 2, {0: 0.1, 6: 0.8})]
    first, second = comparison_table([*runs, record("local", 1, {})])
    assert first.final == pytest.approx((0.7, 0.2 / np.sqrt(2)))
    assert first.best == pytest.approx((0.75, 0.1 / np.sqrt(2)))
    assert first.cells() == ["fedavg", "1, 2", "70.00 ± 14.14 %", "75.00 ± 7.07 %", "6", "–", "–"]
    assert second.cells() == ["local", "1", "–", "–", "0", "–", "–"]
    assert len(HEADINGS) == len(first.cells())


def test_key_figures_leave_out_what_no_run_has() -> None:
    assert [what for what, _, _ in key_figures([record("local", 1, {})])] == ["Rounds"]
    shown = key_figures([record("fedavg", 1, {0: 0.1, 3: 0.9, 4: 0.8}, clients=7)])
    assert ("Final accuracy", "80.00 %", "round 4") in shown
    assert ("Best accuracy", "90.00 %", "round 3") in shown
    assert ("Clients", "7", "") in shown


def test_dropped_clients_are_listed_with_reason_and_rounds() -> None:
    drop = {"id": "mercy", "reason": "No reply."}
    metrics = [{"round": n, "dropped": [drop] if n in (2, 5) else []} for n in range(1, 7)]
    assert dropped_clients([RunRecord(Path("r"), {}, metrics, {}, None, "r")]) == [("r", "mercy", "No reply.", "2, 5")]


def test_a_run_with_nothing_but_training_has_only_those_sections(make_run: MakeRun) -> None:
    run = read_run(make_run(eval_every=0, partition=False, rounds=3))
    shown = [name for name, build in SECTIONS if (panel := build([run])) is not None and panel.figures]
    assert shown == ["Training loss", "Weights of the clients", "Traffic", "Time"]


def test_every_section_returns_figures_and_a_sentence(make_run: MakeRun) -> None:
    run = read_run(make_run(rounds=5, extra=True))
    for name, build in SECTIONS:
        panel = build([run])
        assert panel is not None, name
        assert panel.caption.endswith(".")
        assert all(isinstance(figure, go.Figure) for figure in panel.figures.values())


def test_the_page_is_one_file_without_a_request_and_always_the_same(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run(rounds=3, dropped=True)
    page = write_report([folder], tmp_path / "new" / "report.html").read_text()
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(""", own)
    policy = html.unescape(own)
    assert "default-src 'none'" in policy
    assert "'unsafe-eval'" not in policy
    assert page.count("plotly.js v") == 1
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
    assert page.stat().st_size < 12e6


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.26, "0.3 s"), (59.94, "59.9 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (7325, "2 h 02 min")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text
