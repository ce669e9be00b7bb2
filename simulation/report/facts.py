"""What the page says in words and numbers: title, key figures, dropped replies, differing settings, versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fl_runs.reading import RunGroup, RunRecord
from simulation.report.table import comparison_table, duration, percent, total_megabytes, total_seconds


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
        if len(values) == 1:
            parts.append(text.format(values.pop()))
    return " · ".join(parts)


def key_figures(runs: Sequence[RunRecord]) -> list[tuple[str, str, str]]:
    """The numbers in the header that the runs have: what it is, the number, and a remark."""
    rows = comparison_table(runs)
    single = len(rows) == 1
    shown: list[tuple[str, str, str]] = []
    for what in ("final", "best"):
        known = [(value, row.strategy) for row in rows if (value := getattr(row, what))]
        if known:
            value, strategy = max(known, key=lambda pair: pair[0][0])
            remark = _evaluated_at(runs[0], what) if len(runs) == 1 else "mean over seeds" if single else strategy
            heading = f"{what.capitalize()} accuracy" if single else f"Highest {what} accuracy"
            shown.append((heading, percent(value), remark))
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
    keys = dict.fromkeys(key for one in settings for key in one if key not in {"out", "seed", "resume"})
    rows = [(key, [one.get(key, "–") for one in settings]) for key in keys]
    return [(key, values) for key, values in rows if len(set(values)) > 1]


def versions_of(runs: Sequence[RunRecord]) -> dict[str, str]:
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        versions = run.summary.get("versions")
        for name, version in (versions if isinstance(versions, dict) else {}).items():
            found.setdefault(str(name), {})[str(version)] = None
    return {name: ", ".join(versions) for name, versions in found.items()}


def _evaluated_at(run: RunRecord, what: str) -> str:
    series = run.series("global/accuracy")
    return f"round {max(series) if what == 'final' else max(series, key=lambda number: series[number])}"


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
