"""The report: one self-contained HTML page for one run, or for a comparison of several, that works from file://.

A section of the page is one function of the runs that returns a Panel, or None when no run has its data; SECTIONS lists
them in order. The page loads nothing: its content security policy allows only the scripts it carries, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from fl_runs.reading import RunGroup, RunRecord, group_runs, is_number, read_runs
from simulation.report import personal_pictures, pictures

HERE = Path(__file__).parent
HEADINGS = ("Strategy", "Seeds", "Final accuracy", "Best accuracy", "Rounds", "MB", "Time")
MOST_DROPPED = 200
RECORD_ERRORS = """
(() => {
  const errors = [];
  const note = (text) => { errors.push(String(text)); document.documentElement.dataset.scriptErrors = JSON.stringify(errors); };
  document.documentElement.dataset.scriptErrors = "[]";
  window.addEventListener("error", (event) => note(event.message || event.type));
  window.addEventListener("unhandledrejection", (event) => note(event.reason));
  document.addEventListener("securitypolicyviolation", (event) => note("blocked: " + event.violatedDirective));
})();
"""


@dataclass
class Panel:
    """What a section shows: one figure, or several under their labels to choose from, and a sentence on how to read it."""

    caption: str
    figures: dict[str, go.Figure] = field(default_factory=dict)
    wide: bool = True
    keyed: bool = False  # traces are configurations, so that the page's own key stands for the legend


@dataclass
class ComparisonRow:
    """One configuration over its seeds; None where no run has the number."""

    strategy: str
    seeds: list[int | None]
    final: tuple[float, float | None] | None
    best: tuple[float, float | None] | None
    rounds: tuple[int, int]
    megabytes: float | None
    seconds: float | None
    finished: bool

    def cells(self) -> list[str]:
        """The row as text, in the order of HEADINGS."""
        fewest, most = self.rounds
        rounds = f"{most}" if fewest == most else f"{fewest} to {most}"
        return [
            self.strategy,
            ", ".join("–" if seed is None else str(seed) for seed in self.seeds),
            _percent(self.final),
            _percent(self.best),
            rounds if self.finished else f"{rounds} (unfinished)",
            "–" if self.megabytes is None else f"{self.megabytes:,.1f}",
            "–" if self.seconds is None else duration(self.seconds),
        ]


def comparison_table(runs: Sequence[RunRecord]) -> list[ComparisonRow]:
    """A row for each configuration: mean and sample deviation over seeds; MB and seconds are the mean of a run."""
    return [_row(group) for group in group_runs(runs)]


def write_report(folders: Sequence[Path], out: Path, title: str | None = None) -> Path:
    """Write the page for these run folders to `out`; a page that is already there is replaced at once or not at all."""
    if not folders:
        raise ValueError("A report needs at least one run folder, but none was given.")
    runs = read_runs(folders)
    out = Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(render(runs, title))
        os.chmod(draft, 0o644)
        os.replace(draft, out)
    finally:
        Path(draft).unlink(missing_ok=True)
    return out


def render(runs: Sequence[RunRecord], title: str | None = None) -> str:
    """The page as text; the same runs give the same page."""
    groups = group_runs(runs)
    panels = [(name, build(runs)) for name, build in SECTIONS]
    shown = [(name, panel) for name, panel in panels if panel is not None]
    slots = [
        [{"label": label, "figure": figure.to_plotly_json()} for label, figure in p.figures.items()] for _, p in shown
    ]
    scripts = [RECORD_ERRORS, get_plotlyjs(), (HERE / "report.js").read_text(encoding="utf-8")]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string((HERE / "report.html").read_text(encoding="utf-8")).render(
        title=title or _title(groups),
        subtitle=_subtitle(runs),
        policy="; ".join(
            [
                "default-src 'none'",
                "script-src " + " ".join(f"'sha256-{_digest(script)}'" for script in scripts),
                "style-src 'unsafe-inline'",
                "img-src data: blob:",
            ]
        ),
        style=Markup((HERE / "report.css").read_text(encoding="utf-8")),
        scripts=[Markup(script) for script in scripts],
        figures=[embed(slot) for slot in slots],
        sections=shown,
        key=[(group.label, pictures.PALETTE[i % len(pictures.PALETTE)], i) for i, group in enumerate(groups)],
        headline=key_figures(runs),
        headings=HEADINGS,
        rows=[row.cells() for row in comparison_table(runs)] if len(runs) > 1 else [],
        dropped=dropped_clients(runs),
        most_dropped=MOST_DROPPED,
        differences=differing_settings(groups),
        groups=groups,
        runs=runs,
        versions=_versions(runs),
    )


def accuracy_panel(runs: Sequence[RunRecord]) -> Panel:
    figure = pictures.accuracy_figure(runs)
    if figure is None:
        return Panel("No round was evaluated on the server, so there is no accuracy to show.")
    return Panel(
        f"Share of the server's evaluation examples that the global model gets right.{_spread(runs)}",
        {"": figure},
        keyed=True,
    )


def loss_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = pictures.loss_figure(runs)
    return figure and Panel(
        "Mean loss of the global model on the server's evaluation examples.", {"": figure}, False, True
    )


def train_loss_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = pictures.loss_figure(runs, "train/loss")
    return figure and Panel("Mean loss that the round's clients saw while they trained.", {"": figure}, False, True)


def class_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = pictures.class_accuracy_figure(runs)
    return figure and Panel(
        "Accuracy of the global model on each class, at the last evaluation.", {"": figure}, keyed=True
    )


def class_history_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures = {run.name: figure for run in runs if (figure := pictures.class_history_figure(run))}
    return (
        Panel("Accuracy of each class as the rounds go by: which are learned late, and which are forgotten.", figures)
        if figures
        else None
    )


def personal_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = personal_pictures.personal_figure(runs)
    return figure and Panel(
        "How accurate the clients' own models are on their own held-out data: a line further right serves clients better, a steeper one serves them more equally.",
        {"": figure},
        keyed=len(group_runs(runs)) > 1,
    )


def cuau_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures = {run.name: figure for run in runs if (figure := personal_pictures.cuau_figure(run))}
    caption = "What the server saw of each client in one shot, CUAU, against how skewed its labels really are, which only a simulation knows."
    return Panel(caption, figures, wide=False) if figures else None


def cluster_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures = {run.name: figure for run in runs if (figure := personal_pictures.cluster_figure(run))}
    caption = "Accuracy of the clients' own models, cluster by cluster; cluster 1 has the least skewed labels."
    return Panel(caption, figures, wide=False) if figures else None


def partition_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures: dict[str, go.Figure] = {}
    for label, split in _partitions(runs).items():
        figures[label] = pictures.partition_figure(split["counts"], split["class_names"], split["client_ids"])
    caption = "Examples of each class that each client holds, and above them the client's total."
    return Panel(caption, figures) if figures else None


def balance_panel(runs: Sequence[RunRecord]) -> Panel | None:
    splits = _partitions(runs)
    figures = {label: figure for label, split in splits.items() if (figure := pictures.class_balance_figure(split))}
    caption = "Share of each class in all clients' data together, beside its share in the server's evaluation data."
    return Panel(caption, figures) if figures else None


def weights_panel(runs: Sequence[RunRecord]) -> Panel | None:
    budget = pictures.MOST_CELLS // max(1, len(runs))
    figures = {run.name: figure for run in runs if (figure := pictures.weights_figure(run, budget))}
    caption = "How much each client counted in each round; blank where it was not sampled or its reply was dropped."
    return Panel(caption + _averaged(runs), figures) if figures else None


def traffic_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = pictures.traffic_figure(runs)
    ways = "both ways, one on top of the other" if len(group_runs(runs)) == 1 else "both ways together"
    caption = f"Data sent since the start, {ways} (1 MB is a million bytes)."
    return figure and Panel(caption, {"": figure}, wide=False, keyed=len(group_runs(runs)) > 1)


def seconds_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figure = pictures.seconds_figure(runs)
    each, averaged = ("in each round", _averaged(runs)) if len(runs) == 1 else ("in the mean round", "")
    return figure and Panel(f"Seconds that each phase took {each}.{averaged}", {"": figure}, wide=False)


def extra_panel(runs: Sequence[RunRecord]) -> Panel | None:
    figures = pictures.extra_figures(runs)
    return (
        Panel("Numbers that the method reports of its own, by their names in metrics.jsonl.", figures, keyed=True)
        if figures
        else None
    )


SECTIONS: tuple[tuple[str, Callable[[Sequence[RunRecord]], Panel | None]], ...] = (
    ("Accuracy", accuracy_panel),
    ("Evaluation loss", loss_panel),
    ("Training loss", train_loss_panel),
    ("Accuracy by class", class_panel),
    ("Classes over time", class_history_panel),
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


def key_figures(runs: Sequence[RunRecord]) -> list[tuple[str, str, str]]:
    """The header's numbers: what, the number, and a remark; only those that the runs have."""
    rows = comparison_table(runs)
    single = len(rows) == 1
    shown: list[tuple[str, str, str]] = []
    for what in ("final", "best"):
        known = [(value, row.strategy) for row in rows if (value := getattr(row, what))]
        if known:
            value, strategy = max(known, key=lambda pair: pair[0][0])
            remark = _evaluated_at(runs[0], what) if len(runs) == 1 else "mean over seeds" if single else strategy
            heading = f"{what.capitalize()} accuracy" if single else f"Highest {what} accuracy"
            shown.append((heading, _percent(value), remark))
    if len(runs) > 1:
        shown.append(("Runs", str(len(runs)), f"{len(rows)} configuration{'s' * (len(rows) > 1)}"))
    fewest, most = min(row.rounds[0] for row in rows), max(row.rounds[1] for row in rows)
    shown.append(("Rounds", str(most) if fewest == most else f"{fewest}–{most}", _unfinished(runs)))
    if clients := sorted({count for run in runs if (count := _clients(run))}):
        sampled = {len(line["cohort"]) for run in runs for line in run.metrics if line.get("cohort")}
        text = "–".join(map(str, sorted({min(sampled), max(sampled)}))) + " a round" if sampled else ""
        shown.append(("Clients", "–".join(map(str, sorted({clients[0], clients[-1]}))), text))
    totals: tuple[tuple[str, Callable[[RunRecord], float | None], Callable[[float], str]], ...] = (
        ("Time", total_seconds, duration),
        ("Traffic", total_megabytes, lambda mb: f"{mb:,.1f} MB" if mb < 10_000 else f"{mb / 1000:,.1f} GB"),
    )
    for name, measure, text_of in totals:
        values = [value for run in runs if (value := measure(run)) is not None]
        if values:
            shown.append((name, text_of(sum(values)), "all runs together" if len(runs) > 1 else ""))
    return shown


def dropped_clients(runs: Sequence[RunRecord]) -> list[tuple[str, str, str, str]]:
    """Run, client, reason and the rounds in which its reply was dropped for it."""
    rounds: dict[tuple[str, str, str], list[int]] = {}
    for run in runs:
        for line in run.metrics:
            for drop in line.get("dropped") or []:
                key = (run.name, str(drop.get("id", "unknown")), str(drop.get("reason", "no reason recorded")))
                rounds.setdefault(key, []).append(line["round"])
    return [(*key, _listed(numbers)) for key, numbers in rounds.items()]


def differing_settings(groups: Sequence[RunGroup]) -> list[tuple[str, list[str]]]:
    """Options in which the compared configurations differ, with each one's value."""
    settings = [group.runs[0].settings() for group in groups]
    keys = dict.fromkeys(key for one in settings for key in one if key not in {"out", "seed", "resume"})
    rows = [(key, [one.get(key, "–") for one in settings]) for key in keys]
    return [(key, values) for key, values in rows if len(set(values)) > 1]


def total_megabytes(run: RunRecord) -> float | None:
    values = [*run.series("bytes_up").values(), *run.series("bytes_down").values()]
    return sum(values) / 1e6 if values else None


def total_seconds(run: RunRecord) -> float | None:
    """What the summary says; for an unfinished run the sum of its rounds' phases."""
    if is_number(run.summary.get("seconds")):
        return float(run.summary["seconds"])
    spent = [line["seconds"] for line in run.metrics if isinstance(line.get("seconds"), dict)]
    return float(sum(value for one in spent for value in one.values() if is_number(value))) if spent else None


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def embed(value: Any) -> Markup:
    """JSON that cannot end the script element it stands in, whatever text it holds."""
    text = json.dumps(value, default=_json_ready, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _json_ready(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value.to_plotly_json()


def _row(group: RunGroup) -> ComparisonRow:
    accuracies = [list(series.values()) for run in group.runs if (series := run.series("global/accuracy"))]
    rounds = [run.metrics[-1]["round"] if run.metrics else 0 for run in group.runs]
    megabytes = [value for run in group.runs if (value := total_megabytes(run)) is not None]
    seconds = [value for run in group.runs if (value := total_seconds(run)) is not None]
    return ComparisonRow(
        strategy=group.label,
        seeds=[run.seed for run in group.runs],
        final=_mean_and_deviation([values[-1] for values in accuracies]),
        best=_mean_and_deviation([max(values) for values in accuracies]),
        rounds=(min(rounds), max(rounds)),
        megabytes=float(np.mean(megabytes)) if megabytes else None,
        seconds=float(np.mean(seconds)) if seconds else None,
        finished=all(run.finished for run in group.runs),
    )


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None] | None:
    if not values:
        return None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def _percent(value: tuple[float, float | None] | None) -> str:
    if value is None:
        return "–"
    mean, deviation = value
    return f"{100 * mean:.2f} %" if deviation is None else f"{100 * mean:.2f} ± {100 * deviation:.2f} %"


def _evaluated_at(run: RunRecord, what: str) -> str:
    series = run.series("global/accuracy")
    return f"round {max(series) if what == 'final' else max(series, key=lambda number: series[number])}"


def _partitions(runs: Sequence[RunRecord]) -> dict[str, dict[str, Any]]:
    """The different splits among the runs, each under its seed, or the first run that has it."""
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
    uneven = [g.label for g in repeated if len({tuple(run.series("global/accuracy")) for run in g.runs}) > 1]
    return text + (
        f" Where seeds were evaluated in different rounds ({', '.join(uneven)}), only shared rounds are drawn."
        if uneven
        else ""
    )


def _averaged(runs: Sequence[RunRecord]) -> str:
    long = any(len(run.metrics) > pictures.MOST_COLUMNS for run in runs)
    return " Neighbouring rounds of long runs share a column, which shows their mean." if long else ""


def _unfinished(runs: Sequence[RunRecord]) -> str:
    left = [run for run in runs if not run.finished]
    if len(runs) > 1 or not left:
        return f"{len(left)} run{'s' * (len(left) > 1)} unfinished" if left else ""
    return f"of {left[0].config['rounds']}, unfinished" if "rounds" in left[0].config else "unfinished"


def _clients(run: RunRecord) -> int | None:
    if run.partition:
        return len(run.partition["client_ids"])
    clients = run.config.get("clients")
    return clients if isinstance(clients, int) else None


def _listed(numbers: Sequence[int]) -> str:
    head = ", ".join(map(str, numbers[:12]))
    return head if len(numbers) <= 12 else f"{head} and {len(numbers) - 12} more"


def _title(groups: Sequence[RunGroup]) -> str:
    return groups[0].label if len(groups) == 1 else f"{len(groups)} configurations compared"


def _subtitle(runs: Sequence[RunRecord]) -> str:
    """What all runs have in common, from their configuration."""
    parts = []
    for key, text in (
        ("dataset", "{}"),
        ("partition", "{}"),
        ("model", "{}"),
        ("clients", "{} clients"),
        ("seed", "seed {}"),
    ):
        values = {str(run.config[key]) for run in runs if key in run.config}
        if len(values) == 1:
            parts.append(text.format(values.pop()))
    return " · ".join(parts)


def _versions(runs: Sequence[RunRecord]) -> dict[str, str]:
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        versions = run.summary.get("versions")
        for name, version in (versions if isinstance(versions, dict) else {}).items():
            found.setdefault(str(name), {})[str(version)] = None
    return {name: ", ".join(versions) for name, versions in found.items()}


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
