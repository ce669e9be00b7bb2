"""Reading run folders back: what a finished, a killed or a still running run has written, checked and labelled."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fl_config.options import changes_numbers
from fl_config.toml import flatten

# Headlines of which less is better, for runs that have not yet written their summary; a test holds it to fl_tasks.METRICS,
# which would load torch.
LESS_IS_BETTER = frozenset({"loss", "rmse", "mae", "nll", "brier", "ece"})
SITES = "sites.json"  # what the sites of a deployed run said of themselves, by name
MOST_CLASSES = 10  # named one by one in a warning


class RunFolderError(ValueError):
    """A run folder that cannot be read; the message is a sentence for the user."""


@dataclass(frozen=True)
class Headline:
    """The metric by which the rounds of a run, and runs with each other, are compared."""

    name: str = "accuracy"
    better: str = "more"

    @property
    def key(self) -> str:
        """The name in records: macro_f1 for macro-f1."""
        return self.name.replace("-", "_")

    def best_of(self, values: Sequence[float]) -> float:
        return min(values) if self.better == "less" else max(values)


@dataclass
class RunRecord:
    """Everything that a run folder says; `name` tells the run apart from the others that it is shown with."""

    folder: Path
    config: dict[str, Any]
    metrics: list[dict[str, Any]]
    summary: dict[str, Any]
    partition: dict[str, Any] | None
    name: str
    tables: dict[str, Any] = field(default_factory=dict)  # of the final model: confusion, calibration
    model: dict[str, Any] = field(default_factory=dict)  # what the model is: name, parameters, layers
    sites: dict[str, Any] = field(default_factory=dict)  # of a deployed run, by name: client id, examples, version

    @property
    def strategy(self) -> str:
        return str(self.summary.get("strategy") or self.config.get("strategy") or self.folder.name)

    @property
    def seed(self) -> int | None:
        seed = self.summary.get("seed", self.config.get("seed"))
        return seed if isinstance(seed, int) else None

    @property
    def finished(self) -> bool:
        return bool(self.summary.get("finished", False))

    @property
    def says_headline(self) -> bool:
        """Whether the run is of a version that has headlines; before, it was always the accuracy."""
        return "headline" in self.summary or "headline" in self.config

    @property
    def headline(self) -> Headline:
        told = self.summary.get("headline")
        if isinstance(told, dict):
            return Headline(str(told.get("name")), str(told.get("better")))
        if not self.says_headline:
            return Headline()
        name = str(self.config["headline"])
        if name in ("", "auto"):
            name = next((key for line in self.metrics if (key := headline_key(line))), "accuracy").replace("_", "-")
        return Headline(name, "less" if name in LESS_IS_BETTER else "more")

    def series(self, key: str) -> dict[int, float]:
        """Round to value, for the rounds in which `key` is a finite number."""
        return {line["round"]: float(line[key]) for line in self.metrics if is_number(line.get(key))}

    def settings(self) -> dict[str, str]:
        """The configuration with dotted keys and values as text, e.g. `disco.a` to `0.4`."""
        flat = flatten(self.config).items()
        return {key: value if isinstance(value, str) else json.dumps(value, default=str) for key, value in flat}


@dataclass
class RunGroup:
    """Runs of one configuration with different seeds, drawn as one curve in one colour."""

    label: str
    runs: list[RunRecord]

    def settings(self) -> dict[str, str]:
        """The settings that its runs share, of those that change the numbers."""
        return _meaning(self.runs[0])


def is_number(value: object) -> bool:
    """Whether it is a finite number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def headline_key(record: Mapping[str, Any]) -> str | None:
    """The key of the headline in a round's record, where the run's evaluations put it first; None in a round without one."""
    for prefix in ("global/", "personal/"):
        for key, value in record.items():
            if key.startswith(prefix) and (value is None or isinstance(value, int | float)):
                return key.removeprefix(prefix)
    return None


def never_right(accuracies: object) -> list[int]:
    """The classes of which not one example is predicted right; a class without examples is not among them."""
    return [c for c, value in enumerate(accuracies) if value == 0] if isinstance(accuracies, list) else []


def warning(classes: Sequence[object]) -> str:
    """A sentence about classes that are never predicted right."""
    if len(classes) == 1:
        return f"class {classes[0]} is never predicted right"
    named = ", ".join(map(str, classes[:MOST_CLASSES]))
    more = len(classes) - MOST_CLASSES
    return f"{len(classes)} classes are never predicted right: {named}{f' and {more} more' if more > 0 else ''}"


def read_run(folder: Path) -> RunRecord:
    """Read one run folder; a run without a summary is unfinished, and a half-written last line is left out."""
    folder = Path(folder)
    if not (folder / "config.toml").is_file():
        raise RunFolderError(
            f"{folder} is not a run folder: it has no config.toml; name a folder that a run has written."
        )
    try:
        config = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RunFolderError(f"{folder / 'config.toml'} is not valid TOML: {error}.") from error
    summary = _read_json(folder / "summary.json") or {}
    partition = _read_json(folder / "partition.json")
    if partition is not None:
        _check_partition(partition, folder / "partition.json")
    tables = _read_json(folder / "tables.json") or {}
    _check_tables(tables, folder / "tables.json")
    metrics, model = _read_metrics(folder / "metrics.jsonl"), _read_json(folder / "model.json") or {}
    sites = _read_json(folder / SITES) or {}
    run = RunRecord(folder, config, metrics, summary, partition, name="", tables=tables, model=model, sites=sites)
    run.name = run.strategy
    return run


def read_runs(folders: Sequence[Path]) -> list[RunRecord]:
    """Read several run folders and give each run its own name: its group's label, with the seed where it needs one."""
    runs = [read_run(folder) for folder in folders]
    for group in group_runs(runs):
        for run in group.runs:
            run.name = group.label if len(group.runs) == 1 else f"{group.label} · seed {run.seed}"
    return runs


def group_runs(runs: Sequence[RunRecord]) -> list[RunGroup]:
    """Gather runs that differ in their seed only; a repeated seed is no further sample and gets a group of its own."""
    gathered: dict[tuple[Any, ...], list[RunRecord]] = {}
    for run in runs:
        settings = tuple(sorted(_meaning(run).items()))
        repetition = 0
        while any(run.seed == other.seed for other in gathered.get((run.strategy, settings, repetition), [])):
            repetition += 1
        gathered.setdefault((run.strategy, settings, repetition), []).append(run)
    groups = [RunGroup(members[0].strategy, members) for members in gathered.values()]
    _tell_apart(groups)
    return groups


def _tell_apart(groups: list[RunGroup]) -> None:
    """Extend equal labels by the settings in which they differ, or by the folder where no setting does."""
    for label in [label for label, count in Counter(group.label for group in groups).items() if count > 1]:
        same = [group for group in groups if group.label == label]
        settings = [_meaning(group.runs[0]) for group in same]
        keys = sorted({key for one in settings for key in one if len({other.get(key) for other in settings}) > 1})
        for group, own in zip(same, settings, strict=True):
            group.label += "".join(f" · {key}={own.get(key, 'unset')}" for key in keys[:3])
    # Repetitions differ in nothing but their folder; where the folders have one name, the whole path tells them apart.
    for place in (lambda folder: folder.name, str):
        taken = Counter(group.label for group in groups)
        for group in groups:
            if taken[group.label] > 1:
                group.label += f" · {place(_folder_of(group))}"


def _folder_of(group: RunGroup) -> Path:
    """That of its first run; of runs of a sweep, which are called by their seeds, the sweep's."""
    first = group.runs[0].folder
    return first.parent if all(re.search(r"-seed\d+$", run.folder.name) for run in group.runs) else first


def _meaning(run: RunRecord) -> dict[str, str]:
    """The settings that two runs share when they are samples of one configuration."""
    return {key: value for key, value in run.settings().items() if key != "seed" and changes_numbers(key)}


def _read_json(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunFolderError(f"{path} is not valid JSON: {error}.") from error
    if not isinstance(content, dict):
        raise RunFolderError(f"{path} holds a {type(content).__name__}, but a JSON object was expected.")
    return content


def _read_metrics(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    lines = [(number, line) for number, line in enumerate(path.read_bytes().split(b"\n"), 1) if line.strip()]
    by_round: dict[int, dict[str, Any]] = {}
    for number, line in lines:
        try:
            record = json.loads(line)
        except ValueError as error:
            if number == lines[-1][0]:
                break  # a run that is being written, or was killed, may end in half a line
            raise RunFolderError(
                f"{path}, line {number} is not valid JSON: {error}; restore or delete the line."
            ) from error
        if not isinstance(record, dict) or type(record.get("round")) is not int:
            raise RunFolderError(
                f"{path}, line {number} has no whole number 'round'; every line is an object with one."
            )
        by_round[record["round"]] = (
            record  # a resumed run repeats the rounds after its checkpoint, and the later line counts
        )
    return [by_round[number] for number in sorted(by_round)]


def _check_partition(partition: Mapping[str, Any], path: Path) -> None:
    missing = [key for key in ("class_names", "client_ids", "counts") if not isinstance(partition.get(key), list)]
    if missing:
        raise RunFolderError(f"{path} has no list {missing[0]!r}; class_names, client_ids and counts are expected.")
    clients, classes = len(partition["client_ids"]), len(partition["class_names"])
    rows = partition["counts"]
    if len(rows) != clients or any(not isinstance(row, list) or len(row) != classes for row in rows):
        raise RunFolderError(f"{path}: counts must be {clients} rows (clients) of {classes} numbers (classes).")
    target = partition.get("target_counts")
    if target is not None and (not isinstance(target, list) or len(target) != classes):
        raise RunFolderError(f"{path}: target_counts must be {classes} numbers, one per class.")


def _check_tables(tables: Mapping[str, Any], path: Path) -> None:
    confusion = tables.get("confusion", [])
    if not isinstance(confusion, list) or any(
        not isinstance(row, list) or len(row) != len(confusion) or not all(map(is_number, row)) for row in confusion
    ):
        raise RunFolderError(f"{path}: confusion must be a square of numbers, with one row and one column per class.")
    bins = tables.get("calibration", [])
    if not isinstance(bins, list) or any(
        not isinstance(one, dict) or not all(is_number(one.get(key)) for key in ("above", "to", "count"))
        for one in bins
    ):
        raise RunFolderError(f"{path}: calibration must be a list of bins, each with the numbers above, to and count.")
