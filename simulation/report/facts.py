"""What the page says in words and numbers: title, key figures, warnings, dropped replies, differing settings, versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fl_config.options import changes_numbers
from fl_runs.reading import Headline, RunGroup, RunRecord, never_right, warning
from simulation.report.headline import figure_text, shared_headline
from simulation.report.pictures.classes import class_label
from simulation.report.table import comparison, duration, total_megabytes, total_seconds

MOST_WARNINGS = 5  # sentences at the top of a page


def title_of(groups: Sequence[RunGroup]) -> str:
    return groups[0].label if len(groups) == 1 else f"{len(groups)} configurations compared"


def subtitle_of(runs: Sequence[RunRecord]) -> str:
    """What the configurations of all runs have in common."""
    parts = []
    for key, text in (
        ("dataset", "{}"),
        ("partition", "{}"),
        ("model", "{}"),
        ("clients", "{} clients"),
        ("seed", "seed {}"),
    ):
        values = {str(run.config[key]) for run in runs if key in run.config}
        if key == "model" and any(run.model for run in runs):
            values = {model_of(run) for run in runs}
        if len(values) == 1:
            parts.append(text.format(values.pop()))
    return " · ".join(parts)


def model_of(run: RunRecord) -> str:
    """The model as the run resolved it, with its number of parameters; nothing of a run that does not say it."""
    if not run.model:
        return ""
    size = run.model.get("parameters")
    return f"{run.model.get('name')} ({size:,} parameters)" if isinstance(size, int) else str(run.model.get("name"))


def warnings_of(runs: Sequence[RunRecord]) -> list[str]:
    """One sentence per run in which classes are never predicted right at the last evaluation; of many runs, the first few."""
    sentences = []
    for run in runs:
        if classes := classes_at_zero(run):
            text = warning([class_label(run, one) for one in classes])
            sentences.append(f"{run.name}: {text}." if len(runs) > 1 else f"{text[0].upper()}{text[1:]}.")
    more = len(sentences) - MOST_WARNINGS
    if more <= 1:  # its own sentence is no longer than the one that would stand for it
        return sentences
    return [*sentences[:MOST_WARNINGS], f"In {more} more runs there are classes that are never predicted right."]


def classes_at_zero(run: RunRecord) -> list[int]:
    """By the last evaluation after training; where accuracies per class are not recorded, by the confusion matrix."""
    for line in reversed(run.metrics):
        if isinstance(line.get("global/class_accuracy"), list):
            return never_right(line["global/class_accuracy"]) if line["round"] else []
    rows = run.tables.get("confusion", [])
    return never_right([row[c] / sum(row) if sum(row) else None for c, row in enumerate(rows)])


def key_figures(runs: Sequence[RunRecord]) -> list[tuple[str, str, str]]:
    """The numbers in the header that the runs have: what it is, the number, and a remark."""
    rows, headline = comparison(runs).rows, shared_headline(runs)
    highest = "Lowest" if headline.better == "less" else "Highest"
    single = len(rows) == 1
    shown: list[tuple[str, str, str]] = []
    for what in ("final", "best"):
        known = [(value, row.configuration) for row in rows if (value := getattr(row, what))]
        if known:
            best = headline.best_of([value[0] for value, _ in known])
            value, strategy = next(pair for pair in known if pair[0][0] == best)
            remark = (
                _evaluated_at(runs[0], what, headline) if len(runs) == 1 else "mean over seeds" if single else strategy
            )
            now = "Latest" if what == "final" and not all(run.finished for run in runs) else what.capitalize()
            heading = f"{now} {headline.name}" if single else f"{highest} {what} {headline.name}"
            shown.append((heading, figure_text(value, headline.key), remark))
    if len(runs) > 1:
        shown.append(("Runs", str(len(runs)), f"{len(rows)} configuration{'s' * (len(rows) > 1)}"))
    fewest, most = min(row.rounds[0] for row in rows), max(row.rounds[1] for row in rows)
    shown.append(("Rounds", str(most) if fewest == most else f"{fewest}–{most}", _unfinished(runs)))
    if clients := sorted({count for run in runs if (count := _clients(run))}):
        sampled = {len(line["cohort"]) for run in runs for line in run.metrics if line.get("cohort")}
        text = "–".join(map(str, sorted({min(sampled), max(sampled)}))) + " per round" if sampled else ""
        shown.append(("Clients", "–".join(map(str, sorted({clients[0], clients[-1]}))), text))
    if spent := [max(series) for run in runs if (series := run.series("privacy/epsilon").values())]:
        shown.append(("Privacy", f"ε = {max(spent):.3g}", _privacy(runs)))
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
    """Whose replies were dropped: run, client, the reason, and the rounds in which that happened."""
    rounds: dict[tuple[str, str, str], list[int]] = {}
    for run in runs:
        for line in run.metrics:
            for drop in line.get("dropped") or []:
                key = (run.name, str(drop.get("id", "unknown")), str(drop.get("reason", "no reason recorded")))
                rounds.setdefault(key, []).append(line["round"])
    return [(*key, _listed(numbers)) for key, numbers in rounds.items()]


def differing_settings(groups: Sequence[RunGroup]) -> list[tuple[str, list[str]]]:
    """The options in which the compared configurations differ, with the value that each has."""
    settings = [group.runs[0].settings() for group in groups]
    keys = dict.fromkeys(key for one in settings for key in one if key != "seed" and changes_numbers(key))
    rows = [(key, [one.get(key, "–") for one in settings]) for key in keys]
    return [(key, values) for key, values in rows if len(set(values)) > 1]


def versions_of(runs: Sequence[RunRecord]) -> dict[str, str]:
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        versions = run.summary.get("versions")
        for name, version in (versions if isinstance(versions, dict) else {}).items():
            found.setdefault(str(name), {})[str(version)] = None
    return {name: ", ".join(versions) for name, versions in found.items()}


def _evaluated_at(run: RunRecord, what: str, headline: Headline) -> str:
    series = run.series(f"global/{headline.key}")
    best = headline.best_of(list(series.values()))
    return f"round {max(series) if what == 'final' else next(n for n, value in series.items() if value == best)}"


def _privacy(runs: Sequence[RunRecord]) -> str:
    """Which epsilon it is: of the only run, or of the one that spent the most."""
    if len(runs) > 1:
        return "the most that a run has spent"
    settings = runs[0].config
    budget = f", budget {settings['dp-budget']:g}" if settings.get("dp-budget") else ""
    return f"δ = {settings.get('dp-delta', 0):g}{budget}"


def _unfinished(runs: Sequence[RunRecord]) -> str:
    left = [run for run in runs if not run.finished]
    if len(runs) == 1 and runs[0].summary.get("ended"):
        return f"of {runs[0].config.get('rounds')}, until the budget was spent"
    if len(runs) > 1 or not left:
        return f"{len(left)} run{'s' * (len(left) > 1)} unfinished" if left else ""
    return f"of {left[0].config['rounds']}, unfinished" if "rounds" in left[0].config else "unfinished"


def _clients(run: RunRecord) -> int | None:
    if run.partition:
        return int(run.partition.get("clients", len(run.partition["client_ids"])))
    clients = run.config.get("clients")
    return clients if isinstance(clients, int) else None


def _listed(numbers: Sequence[int]) -> str:
    head = ", ".join(map(str, numbers[:12]))
    return head if len(numbers) <= 12 else f"{head} and {len(numbers) - 12} more"
