"""What the page says in words."""

from __future__ import annotations

from pathlib import Path

from fl_runs.reading import RunRecord, group_runs, read_runs
from simulation.report.facts import (
    classes_at_zero,
    differing_settings,
    dropped_clients,
    key_figures,
    model_of,
    subtitle_of,
    warnings_of,
)
from tests.runs.made_runs import MakeRun, record
from tests.simulation.report.headline_runs import CONFUSION, MODEL, scored


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


def test_key_figures_go_by_the_headline() -> None:
    shown = key_figures([scored("fedavg", "rmse", [9.0, 5.5, 7.25], better="less")])
    assert shown[:2] == [("Final rmse", "7.250", "round 2"), ("Best rmse", "5.500", "round 1")]
    two = [scored("fedavg", "rmse", [9.0, 8.0], better="less"), scored("fedprox", "rmse", [9.0, 7.0], better="less")]
    assert key_figures(two)[0] == ("Lowest final rmse", "7.000", "fedprox")
    two = [scored("fedavg", "auroc", [0.1, 0.8]), scored("fedprox", "auroc", [0.1, 0.7])]
    assert key_figures(two)[1] == ("Highest best auroc", "0.8000", "fedavg")


def test_clients_are_counted_per_round() -> None:
    run = record("fedavg", 1, {0: 0.1}, clients=7)
    run.metrics += [{"round": 1, "cohort": [1, 2]}, {"round": 2, "cohort": [1, 2, 3]}]
    assert ("Clients", "7", "2–3 per round") in key_figures([run])


def test_the_model_is_named_with_its_parameters_where_all_runs_have_the_same() -> None:
    old = record("fedavg", 1, {0: 0.1}, dataset="digits", model="auto")
    new, other = (scored("fedavg", "auroc", [0.5], model=MODEL | {"parameters": size}) for size in (44426, 7))
    assert subtitle_of([old]) == "digits · auto · seed 1"
    assert subtitle_of([new]) == "my_net.py:Net (44,426 parameters) · seed 0"
    assert subtitle_of([new, other]) == "seed 0"
    assert [model_of(old), model_of(other)] == ["", "my_net.py:Net (7 parameters)"]


def test_classes_that_are_never_right_are_a_warning_by_name() -> None:
    run = record("fedavg", 1, {0: 0.1, 1: 0.2})
    run.partition = {"class_names": ["cat", "dog", "<owl>"], "client_ids": [], "counts": []}
    run.metrics[0]["global/class_accuracy"] = [0.0, 0.0, 0.0]
    assert warnings_of([run]) == []  # an untrained model is no news
    run.metrics[1]["global/class_accuracy"] = [0.5, None, 0.0]
    assert warnings_of([run]) == ["Class <owl> is never predicted right."]
    run.metrics[1]["global/class_accuracy"] = [0.0, 0.5, 0.0]
    fine = record("fedprox", 1, {0: 0.1})
    sentence = "fedavg: 2 classes are never predicted right: cat, <owl>."
    assert warnings_of([run, fine]) == [sentence]
    assert warnings_of([run] * 6) == [sentence] * 6
    many = warnings_of([run] * 7)
    assert many == [*[sentence] * 5, "In 2 more runs there are classes that are never predicted right."]


def test_without_accuracies_of_the_classes_the_confusion_matrix_tells() -> None:
    assert classes_at_zero(scored("fedavg", "auroc", [0.5], tables={"confusion": CONFUSION})) == []
    table = [[0, 4, 1], [0, 0, 0], [1, 1, 3]]  # no example of class 1
    assert classes_at_zero(scored("fedavg", "auroc", [0.5], tables={"confusion": table})) == [0]


def test_settings_differ_only_in_what_changes_numbers(make_run: MakeRun) -> None:
    places = {"state-folder": "elsewhere", "resume": "there", "workers": 3, "engine": "inline"}
    runs = read_runs([make_run("a", lr=0.1), make_run("b", lr=0.2, **places)])
    assert differing_settings(group_runs(runs)) == [("lr", ["0.1", "0.2"])]


def test_what_privacy_cost_is_told_with_its_delta_and_budget() -> None:
    lines = [{"round": n, "privacy/epsilon": 1.5 * n} for n in range(4)]
    config = {"dp-delta": 1e-05, "dp-budget": 5.0, "rounds": 9}
    one = RunRecord(Path("a"), config, lines, {"finished": True, "ended": "The privacy budget ..."}, None, "a")
    assert ("Privacy", "ε = 4.5", "δ = 1e-05, budget 5") in key_figures([one])
    assert ("Rounds", "3", "of 9, until the budget was spent") in key_figures([one])
    other = RunRecord(Path("b"), {"strategy": "fedprox"}, [{"round": 1, "privacy/epsilon": 0.5}], {}, None, "b")
    assert ("Privacy", "ε = 4.5", "the most that a run has spent") in key_figures([one, other])
    assert "Privacy" not in [what for what, _, _ in key_figures([record("fedavg", 1, {0: 0.1})])]
