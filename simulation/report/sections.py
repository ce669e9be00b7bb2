"""The page's sections with figures.

A section is one function of the runs that returns a Panel, or None when no run has its data; SECTIONS is their order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from fl_runs.reading import Headline, RunRecord, group_runs
from simulation.report.client_sections import (
    client_map_panel,
    client_panel,
    cluster_panel,
    cuau_panel,
    personal_panel,
)
from simulation.report.headline import shared_headline, title_of
from simulation.report.panel import Panel
from simulation.report.pictures import classes, costs, curves, partition, predictions, weights
from simulation.report.pictures.drawing import MOST_COLUMNS
from simulation.report.pictures.figure import Figure


def headline_panel(runs: Sequence[RunRecord]) -> Panel:
    headline = shared_headline(runs)
    title = title_of(headline)
    figure = curves.headline_figure(runs)
    if figure is None:
        return Panel(f"No round was evaluated on the server, so there is no {headline.name} to show.", title=title)
    what = "Share of the server's evaluation examples that the global model gets right."
    if headline != Headline():
        what = (
            f"The {headline.name} of the global model on the server's evaluation examples; {headline.better} is better."
        )
    return Panel(what + _spread(runs), {"": figure}, keyed=True, title=title)


def further_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures = curves.further_figures(runs)
    caption = (
        "The other metrics that were recorded: global/ is the global model on the server's evaluation examples, personal/ "
        "the mean over the clients on their own held-out data (before: without fine-tuning; std and worst_decile: how "
        "unequal the headline is)."
    )
    if not any(key.startswith("personal/") for key in figures):
        caption = "The other metrics of the global model that were recorded on the server's evaluation examples."
    return Panel(caption, figures, keyed=True) if figures else None


def loss_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = None if shared_headline(runs).name == "loss" else curves.loss_figure(runs)
    return (
        Panel("Mean loss of the global model on the server's evaluation examples.", {"": figure}, False, True)
        if figure
        else None
    )


def train_loss_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = curves.loss_figure(runs, "train/loss")
    return (
        Panel("Mean loss that the round's clients saw while they trained.", {"": figure}, False, True)
        if figure
        else None
    )


def class_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = classes.class_accuracy_figure(runs)
    return (
        Panel("Accuracy of the global model on each class, at the last evaluation.", {"": figure}, keyed=True)
        if figure
        else None
    )


def class_history_panel(runs: Sequence[RunRecord]) -> Panel | None:
    most = max(40, MOST_COLUMNS // max(1, len(runs) // 4))  # many runs share the page's size
    figures = {run.name: figure for run in runs if (figure := classes.class_history_figure(run, most))}
    return (
        Panel("Accuracy of each class as the rounds go by: which are learned late, and which are forgotten.", figures)
        if figures
        else None
    )


def confusion_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures = {run.name: figure for run in runs if (figure := predictions.confusion_figure(run))}
    caption = (
        "What the final model takes the examples of each class for: rows are true classes, columns predicted ones, and the "
        "shade is the share of the row."
    )
    if any(len(run.tables.get("confusion", [])) > predictions.MOST_CLASSES for run in runs):
        caption += f" Of many classes, the {predictions.MOST_CLASSES} with the lowest accuracy are shown."
    return Panel(caption, figures, wide=False) if figures else None


def calibration_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures = {run.name: figure for run in runs if (figure := predictions.calibration_figure(run))}
    caption = (
        "How often the final model is right when it is so sure of it: bars on the dotted line are well calibrated, bars "
        "below it too sure. The calibration error (ECE) is their mean distance from it, by the share of the examples below."
    )
    return Panel(caption, figures, wide=False) if figures else None


def partition_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures: dict[str, Figure] = {}
    for label, split in _partitions(runs).items():
        figures[label] = partition.partition_figure(split["counts"], split["class_names"], split["client_ids"])
    caption = "Examples of each class that each client holds, and above them the client's total."
    return Panel(caption + partition.some_of_many(_partitions(runs)), figures) if figures else None


def balance_panel(runs: Sequence[RunRecord]) -> Panel | None:
    splits = _partitions(runs)
    figures = {label: figure for label, split in splits.items() if (figure := classes.class_balance_figure(split))}
    caption = "Share of each class in all clients' data together, beside its share in the server's evaluation data."
    return Panel(caption + partition.some_of_many(_partitions(runs)), figures) if figures else None


def weights_panel(runs: Sequence[RunRecord]) -> Panel | None:
    budget = weights.MOST_CELLS // max(1, len(runs))
    figures = {run.name: figure for run in runs if (figure := weights.weights_figure(run, budget))}
    caption = "How much each client counted in each round; blank where it was not sampled or its reply was dropped."
    return Panel(caption + _averaged(runs), figures) if figures else None


def traffic_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = costs.traffic_figure(runs)
    ways = "both ways, one on top of the other" if len(group_runs(runs)) == 1 else "both ways together"
    caption = f"Data sent since the start, {ways} (1 MB is a million bytes)."
    return Panel(caption, {"": figure}, wide=False, keyed=len(group_runs(runs)) > 1) if figure else None


def seconds_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = costs.seconds_figure(runs)
    each, averaged = ("in each round", _averaged(runs)) if len(runs) == 1 else ("in the mean round", "")
    return Panel(f"Seconds that each phase took {each}.{averaged}", {"": figure}, wide=False) if figure else None


def extra_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures = curves.extra_figures(runs)
    return (
        Panel("Numbers that the method reports of its own, by their names in metrics.jsonl.", figures, keyed=True)
        if figures
        else None
    )


SECTIONS: tuple[tuple[str, Callable[[Sequence[RunRecord]], Panel | None]], ...] = (
    ("Accuracy", headline_panel),
    ("Further metrics", further_panel),
    ("Evaluation loss", loss_panel),
    ("Training loss", train_loss_panel),
    ("Accuracy by class", class_panel),
    ("Classes over time", class_history_panel),
    ("Confusion matrix", confusion_panel),
    ("Calibration", calibration_panel),
    ("Accuracy by client", client_panel),
    ("Who is served well", client_map_panel),
    ("Personalised accuracy", personal_panel),
    ("Clusters", cuau_panel),
    ("Personalised accuracy by cluster", cluster_panel),
    ("The method's own numbers", extra_panel),
    ("Who holds what", partition_panel),
    ("Class balance", balance_panel),
    ("Weights of the clients", weights_panel),
    ("Traffic", traffic_panel),
    ("Time", seconds_panel),
)


def _partitions(runs: Sequence[RunRecord]) -> dict[str, dict[str, Any]]:
    """The different splits among the runs, under their seeds if those tell them apart, else under a run's name."""
    having: dict[str, list[RunRecord]] = {}
    for run in runs:
        if run.partition and run.partition["counts"]:
            having.setdefault(json.dumps(run.partition, sort_keys=True), []).append(run)
    seeds = [{run.seed for run in members} for members in having.values()]
    by_seed = all(len(one) == 1 for one in seeds) and len(set.union(set(), *seeds)) == len(seeds)
    return {
        f"seed {members[0].seed}" if by_seed else members[0].name: members[0].partition or {}
        for members in having.values()
    }


def _spread(runs: Sequence[RunRecord]) -> str:
    repeated = [group for group in group_runs(runs) if len(group.runs) > 1]
    if not repeated:
        return ""
    text = " Lines are means over seeds, bands one sample standard deviation to either side."
    key = f"global/{shared_headline(runs).key}"
    uneven = [g.label for g in repeated if len({tuple(run.series(key)) for run in g.runs}) > 1]
    return text + (
        f" Where seeds were evaluated in different rounds ({', '.join(uneven)}), only shared rounds are drawn."
        if uneven
        else ""
    )


def _averaged(runs: Sequence[RunRecord]) -> str:
    long = any(len(run.metrics) > MOST_COLUMNS for run in runs)
    return " Neighbouring rounds of long runs share a column, which shows their mean." if long else ""
