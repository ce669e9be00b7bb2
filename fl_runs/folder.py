"""The run folder, written as the run goes: configuration, one line of metrics per round, log, checkpoint, model, summary."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import platform
import shutil
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from fl_config.errors import ConfigError, RunCutShort, trouble
from fl_config.files import naming, write_atomically
from fl_config.held_files import held
from fl_config.toml import Scalar, to_toml
from fl_protocol.code import Code
from fl_protocol.types import ClientId
from fl_runs.checkpoints import Checkpoints, whole_lines
from fl_strategies.round.records import Observer, Record
from fl_strategies.round.state import RunState
from fl_tasks import ChosenMetrics

CONFIG, METRICS, SUMMARY, MODEL, PARTITION, LOG = (
    "config.toml",
    "metrics.jsonl",
    "summary.json",
    "model.safetensors",
    "partition.json",
    "log.txt",
)
CHECKPOINT, STATE, CLIENT_MODELS, LAST_MODELS = "checkpoint", "state", "client_models.safetensors", "last_models"
MODEL_DESCRIPTION, SOURCES, ENCODING, TABLES = "model.json", "sources", "encoding.json", "tables.json"
PACKAGES = ("fedloom", "flwr", "torch", "torchvision", "ray", "numpy")


class RunFolder(Observer):
    """A new folder for a run, or with `resume_after` one that goes on after that round."""

    def __init__(
        self, path: Path, config: Mapping[str, Scalar], *, resume_after: int | None = None, save_every: int = 1
    ) -> None:
        self.path = path
        self.checkpoints = Checkpoints(path / CHECKPOINT, save_every, resume_after)
        if resume_after is None and path.exists() and any(path.iterdir()):
            what = "another run" if (path / CONFIG).exists() else "other files"
            raise ConfigError(
                f"The output folder {path} holds {what}: choose another --out, or continue a run with --resume."
            )
        path.mkdir(parents=True, exist_ok=True)
        self.records: list[Record] = []
        self.began = time.time()
        self.before = 0.0  # seconds of earlier sessions of a resumed run
        try:
            if resume_after is not None:
                self._rewind(resume_after)
            write_atomically(path / CONFIG, to_toml(config).encode())
            self.handler = held(Log(path / LOG, encoding="utf-8"))  # it shows that the run goes on
        except OSError:
            if resume_after is None:
                shutil.rmtree(path, ignore_errors=True)  # the same command may be given again
            raise
        self.handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logging.getLogger("fedloom").addHandler(self.handler)

    def _rewind(self, round: int) -> None:
        """Forget lines of rounds after the checkpoint, which are run again, and drafts of files that a kill cut short."""
        for draft in (*self.path.glob(".*"), *(self.path / CHECKPOINT).glob(".*")):
            draft.unlink()
        self.records = [record for record in whole_lines(self.path / METRICS) if record["round"] <= round]
        self.before = sum(sum(record.get("seconds", {}).values()) for record in self.records)
        write_atomically(self.path / METRICS, "".join(json.dumps(record) + "\n" for record in self.records).encode())

    def recorded(self, record: Record) -> None:
        self._check_there()
        path = self.path / METRICS
        with naming(path):
            before = path.stat().st_size if path.exists() else 0
            try:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
            except OSError:
                with contextlib.suppress(OSError):
                    os.truncate(path, before)  # no half of a line
                raise
        self.records.append(record)
        self.checkpoints.counts(record["round"])

    def _check_there(self) -> None:
        """Somebody may have moved or removed the folder; to write on would leave half a folder in its place."""
        if not (self.path / CONFIG).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.path))

    def _write(self, name: str, content: bytes) -> None:
        self._check_there()
        write_atomically(self.path / name, content)

    def write_partition(
        self,
        class_names: list[str],
        client_ids: list[Any],
        counts: np.ndarray[Any, Any],
        target_counts: list[int] | None,
        clients: int,
    ) -> None:
        """How the labels lie: of all clients, or of some where there are very many."""
        content = {
            "class_names": class_names,
            "clients": clients,
            "client_ids": client_ids,
            "counts": counts.tolist(),
            "target_counts": target_counts,
        }
        self._write(PARTITION, json.dumps(content).encode())

    def write_model(self, description: Mapping[str, Any]) -> None:
        """What the model is, so that nobody has to guess what `auto` was."""
        self._write(MODEL_DESCRIPTION, (json.dumps(description, indent=2) + "\n").encode())

    def write_sources(self, code: Code) -> None:
        """The texts of the user's that the run executes."""
        for source in code.everything:
            name = source.place.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
            self._write(f"{SOURCES}/{name}.py", source.text.encode())

    def write_encoding(self, encoding: Any) -> None:
        """How the rows of a table became features."""
        self._write(ENCODING, encoding.to_json().encode())

    def write_tables(self, tables: Mapping[str, Any]) -> None:
        """Tables of the final model, for the report."""
        if tables:
            self._write(TABLES, (json.dumps(tables) + "\n").encode())

    def checkpoint(self, state: RunState, last: bool) -> bool:
        """Write the checkpoint if it is due, as it always is after the last round; says whether it did."""
        self._check_there()
        return self.checkpoints.save(state, last)

    def write_client_models(self, models: Mapping[ClientId, Any]) -> None:
        """The clients' models of the last round as flat vectors, for `fedloom predict`."""
        self._write(CLIENT_MODELS, save({str(client): vector for client, vector in models.items()}))

    def finish(
        self,
        strategy: str,
        recipe: str,
        seed: int,
        arrays: Mapping[str, Any] | None,
        finished: bool,
        metrics: ChosenMetrics,
        ended: str = "",
    ) -> Record:
        """Write the model and the summary, which is returned; `ended` is why a run came to its end before its last round."""
        if arrays is not None:
            content = save(
                {name: np.asarray(value, order="C") for name, value in arrays.items()}, metadata={"format": "pt"}
            )
            self._write(MODEL, content)
        key, sign = metrics.headline_key, 1.0 if metrics.better == "more" else -1.0
        scored = [record for record in self.records if headline_of(record, key) is not None]
        best = max(scored, key=lambda record: sign * (headline_of(record, key) or 0.0), default=None)
        summary: Record = {
            "strategy": strategy,
            "recipe": recipe,
            "seed": seed,
            "rounds": max((record["round"] for record in self.records), default=0),
            "final": _figures(scored[-1]) if scored else None,
            "best": _figures(best) if best else None,
            "headline": {"name": metrics.headline, "better": metrics.better},
            "seconds": round(self.before + time.time() - self.began, 3),
            "versions": versions(),
            "finished": finished,
            **({"ended": ended} if ended else {}),
        }
        self._write(SUMMARY, (json.dumps(summary, indent=2) + "\n").encode())
        self.checkpoints.counts(summary["rounds"])
        self.close()
        return summary

    def cut_short(self, error: OSError) -> RunCutShort:
        """What the system refused in the midst of the run, what is kept of it, and how it goes on."""
        last, again = self.checkpoints.kept or 0, f"fedloom run --resume {self.path}"
        if not (self.path / CONFIG).exists():
            kept = f"The run folder {self.path} is no longer there, and nothing of the run is left."
        elif last < 1:
            kept = f"No round was finished; begin again with: {again}"
        else:
            kept = f"Rounds up to {last} are kept; continue with: {again}"
        return RunCutShort(f"{trouble(error)} {kept}")

    def discard(self) -> None:
        """Remove a new folder of a run that was refused before it began."""
        self.close()
        shutil.rmtree(self.path)

    def close(self) -> None:
        logging.getLogger("fedloom").removeHandler(self.handler)
        self.handler.close()


class Log(logging.FileHandler):
    """A log that does without a line which cannot be written: whatever else cannot be written says so, and says it better."""

    def handleError(self, record: logging.LogRecord) -> None:
        return None


def headline_of(record: Record, key: str) -> float | None:
    """The figure by which rounds are compared: the global model's, or the clients' own where there is no global one."""
    return record.get(f"global/{key}", record.get(f"personal/{key}"))


def _figures(record: Record) -> Record:
    scores = ("global/", "personal/", "outgoing/", "cohort/", "population/")
    single = {key: value for key, value in record.items() if not isinstance(value, list)}
    return {key: value for key, value in single.items() if key == "round" or key.startswith(scores)}


def versions() -> dict[str, str]:
    known = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            known[package] = "not installed"
    return known


def default_folder(strategy: str) -> Path:
    """runs/<time>-<strategy>, numbered where that exists already."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{strategy}"
    path = Path("runs") / stem
    number = 2
    while path.exists():
        path = Path("runs") / f"{stem}-{number}"
        number += 1
    return path
