"""What is kept of a run that was made for a published table: one small JSON file, from which every figure of a table is computed.

It holds the setting, the seed, the curves of the headline, the time, and for each session of the run (one, or several where it was
stopped and resumed) the versions, the machine and the commit of the code. Neither a path nor the name of a host is among it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError
from fl_config.files import write_atomically
from fl_config.options import Options, as_flat, changes_numbers, options
from fl_runs.folder import versions
from fl_runs.reading import RunRecord, read_run
from simulation.reproduce.published import Setting

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = "sessions.json"  # beside the run folder, under its name
SCORED = ("global", "outgoing", "cohort", "population", "personal")
Curve = dict[int, float]


@dataclass(frozen=True)
class Result:
    """One finished run."""

    name: str
    setting: dict[str, Any]
    seed: int
    rounds: int
    curves: dict[str, Curve]  # by the key of the record, such as global/accuracy
    final: dict[str, float]
    seconds: float
    sessions: list[dict[str, Any]]

    def as_run(self, label: str) -> RunRecord:
        """As far as the report's pictures are concerned."""
        numbers = sorted({round for curve in self.curves.values() for round in curve})
        metrics = [
            {"round": round, **{key: curve[round] for key, curve in self.curves.items() if round in curve}}
            for round in numbers
        ]
        summary = {"strategy": label, "seed": self.seed, "finished": True}
        return RunRecord(Path(self.name), {**self.setting, "seed": self.seed}, metrics, summary, None, label)


def numbers_of(setting: Setting) -> dict[str, Any]:
    """What the numbers of a run come from, apart from its seed: the options that are not at their defaults.

    `stop-at` is left out: a run that ends once its level is reached has the numbers that a longer one has up to there.
    """
    usual, flat = as_flat(Options()), as_flat(options(setting.values))
    return {
        key: value
        for key, value in sorted(flat.items())
        if changes_numbers(key) and key not in ("seed", "stop-at") and value != usual.get(key)
    }


def stem_of(setting: Setting) -> str:
    """What the names of a setting's runs begin with; rows that measure one run in two ways share it."""
    digest = hashlib.sha256(json.dumps(numbers_of(setting), sort_keys=True).encode()).hexdigest()[:8]
    strategy = re.sub(r"[^\w.+-]+", "_", str(setting.values.get("strategy", Options().strategy)))
    return f"{strategy}-{digest}-seed"


def run_name(setting: Setting, seed: int) -> str:
    return f"{stem_of(setting)}{seed}"


def begin_session(folder: Path, name: str) -> None:
    """Note on what and with which code a run is about to be made, or gone on with."""
    place = folder / f"{name}.{SESSIONS}"
    before = json.loads(place.read_text(encoding="utf-8")) if place.exists() else []
    now = origin()
    write_atomically(place, json.dumps([*(one for one in before if one != now), now], indent=1).encode())


def collect(folder: Path, setting: Setting, seed: int, results: Path) -> Result:
    """Keep the result of a finished run of this folder."""
    name = run_name(setting, seed)
    run = read_run(folder / name)
    keys = [f"{prefix}/{run.headline.key}" for prefix in SCORED]
    curves = {key: curve for key in keys if (curve := run.series(key))}
    place = folder / f"{name}.{SESSIONS}"
    made = Result(
        name=name,
        setting=numbers_of(setting),
        seed=seed,
        rounds=run.metrics[-1]["round"],
        curves=curves,
        final={key: curve[max(curve)] for key, curve in curves.items()},
        seconds=round(float(run.summary.get("seconds", 0)), 1),
        sessions=json.loads(place.read_text(encoding="utf-8")) if place.exists() else [],
    )
    pairs = {key: [[number, value] for number, value in curve.items()] for key, curve in curves.items()}
    text = json.dumps({**asdict(made), "curves": pairs}, indent=1)
    # One line for each point of a curve instead of four.
    text = re.sub(r"\[\s+(\d+),\s+([-\d.e]+)\s+\]", r"[\1, \2]", text)
    write_atomically(results / f"{name}.json", (text + "\n").encode())
    return made


def read_results(folder: Path) -> dict[str, Result]:
    """All results of a folder by their names; a folder that is not there has none."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            curves = {key: {int(number): value for number, value in curve} for key, curve in content["curves"].items()}
            found[content["name"]] = Result(**{**content, "curves": curves})
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise ConfigError(
                f"{path} is not a result of `fedloom reproduce` ({problem}): remove it, or name another folder with --results."
            ) from None
    return found


def origin() -> dict[str, Any]:
    """What a figure is traced to beside its setting and seed."""
    return {"versions": versions(), "commit": commit(), "machine": machine()}


def commit() -> str | None:
    """The commit of the code, if it lies in a git checkout of its own; `+` after it means that files were changed."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    top = git("rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != ROOT:
        return None
    head = git("rev-parse", "HEAD")
    return f"{head}+" if head and git("status", "--porcelain", "--untracked-files=no") else head


def machine() -> dict[str, Any]:
    """Cores, processor and memory."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return {"cores": os.cpu_count(), "processor": processor(), "memory_gb": round(pages / 2**30, 1) or None}


def processor(about: Path = Path("/proc/cpuinfo")) -> str:
    text = about.read_text(encoding="utf-8", errors="replace") if about.is_file() else ""
    named = re.search(r"^model name\s*: *(.+)$", text, re.MULTILINE)
    return named[1].strip() if named else platform.processor() or platform.machine()
