"""The run folder, written as the run goes: configuration, one line of metrics a round, log, checkpoint, model, summary."""

from __future__ import annotations

import json
import logging
import platform
import shutil
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from fl_config.errors import ConfigError
from fl_config.files import write_atomically
from fl_config.toml import Scalar, to_toml
from fl_protocol.code import Code
from fl_protocol.types import ClientId
from fl_strategies.checkpoint import save_checkpoint
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
CHECKPOINT, STATE, CLIENT_MODELS = "checkpoint", "state", "client_models.safetensors"
MODEL_DESCRIPTION, SOURCES, ENCODING, TABLES = "model.json", "sources", "encoding.json", "tables.json"
PACKAGES = ("fedloom", "flwr", "torch", "torchvision", "ray", "numpy")


class RunFolder(Observer):
    """A new folder for a run, or with `resume_after` one that goes on after that round."""

    def __init__(
        self, path: Path, config: Mapping[str, Scalar], *, resume_after: int | None = None, save_every: int = 1
    ) -> None:
        self.path, self.save_every = path, save_every
        if resume_after is None and path.exists() and any(path.iterdir()):
            what = "another run" if (path / CONFIG).exists() else "other files"
            raise ConfigError(
                f"The output folder {path} holds {what}: choose another --out, or continue a run with --resume."
            )
        path.mkdir(parents=True, exist_ok=True)
        self.records: list[Record] = []
        self.began = time.time()
        self.before = 0.0  # seconds of earlier sessions of a resumed run
        if resume_after is not None:
            self._rewind(resume_after)
        write_atomically(path / CONFIG, to_toml(config).encode())
        self.handler = logging.FileHandler(path / LOG, encoding="utf-8")
        self.handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logging.getLogger("fedloom").addHandler(self.handler)

    def _rewind(self, round: int) -> None:
        """Forget lines of rounds after the checkpoint, which are run again, and drafts of files that a kill cut short."""
        for draft in (*self.path.glob(".*"), *(self.path / CHECKPOINT).glob(".*")):
            draft.unlink()
        lines = (self.path / METRICS).read_text(encoding="utf-8").splitlines() if (self.path / METRICS).exists() else []
        for line in lines:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                break  # the line that a kill cut short
            if record["round"] <= round:
                self.records.append(record)
        self.before = sum(sum(record.get("seconds", {}).values()) for record in self.records)
        write_atomically(self.path / METRICS, "".join(json.dumps(record) + "\n" for record in self.records).encode())

    def recorded(self, record: Record) -> None:
        self.records.append(record)
        with (self.path / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

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
        write_atomically(self.path / PARTITION, json.dumps(content).encode())

    def write_model(self, description: Mapping[str, Any]) -> None:
        """What the model is, so that nobody has to guess what `auto` was."""
        write_atomically(self.path / MODEL_DESCRIPTION, (json.dumps(description, indent=2) + "\n").encode())

    def write_sources(self, code: Code) -> None:
        """The texts of the user's that the run executes."""
        for source in code.everything:
            name = source.place.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
            write_atomically(self.path / SOURCES / f"{name}.py", source.text.encode())

    def write_encoding(self, encoding: Any) -> None:
        """How the rows of a table became features."""
        write_atomically(self.path / ENCODING, encoding.to_json().encode())

    def write_tables(self, tables: Mapping[str, Any]) -> None:
        """Tables of the final model, for the report."""
        if tables:
            write_atomically(self.path / TABLES, (json.dumps(tables) + "\n").encode())

    def checkpoint(self, state: RunState, last: bool) -> bool:
        """Write the checkpoint if it is due, as it always is after the last round; says whether it did."""
        due = last or state.round % self.save_every == 0
        if due:
            save_checkpoint(self.path / CHECKPOINT, state)
        return due

    def write_client_models(self, models: Mapping[ClientId, Any]) -> None:
        """The clients' models of the last round as flat vectors, for `fedloom predict`."""
        write_atomically(self.path / CLIENT_MODELS, save({str(client): vector for client, vector in models.items()}))

    def finish(
        self,
        strategy: str,
        recipe: str,
        seed: int,
        arrays: Mapping[str, Any] | None,
        finished: bool,
        metrics: ChosenMetrics,
    ) -> None:
        if arrays is not None:
            content = save(
                {name: np.asarray(value, order="C") for name, value in arrays.items()}, metadata={"format": "pt"}
            )
            write_atomically(self.path / MODEL, content)
        key, sign = metrics.headline_key, 1.0 if metrics.better == "more" else -1.0
        scored = [record for record in self.records if headline_of(record, key) is not None]
        summary = {
            "strategy": strategy,
            "recipe": recipe,
            "seed": seed,
            "rounds": max((record["round"] for record in self.records), default=0),
            "final": _figures(scored[-1]) if scored else None,
            "best": _figures(max(scored, key=lambda record: sign * (headline_of(record, key) or 0.0)))
            if scored
            else None,
            "headline": {"name": metrics.headline, "better": metrics.better},
            "seconds": round(self.before + time.time() - self.began, 3),
            "versions": versions(),
            "finished": finished,
        }
        write_atomically(self.path / SUMMARY, (json.dumps(summary, indent=2) + "\n").encode())
        self.close()

    def discard(self) -> None:
        """Remove a new folder of a run that was refused before it began."""
        self.close()
        shutil.rmtree(self.path)

    def close(self) -> None:
        logging.getLogger("fedloom").removeHandler(self.handler)
        self.handler.close()


def headline_of(record: Record, key: str) -> float | None:
    """The figure by which rounds are compared: the global model's, or the clients' own where there is no global one."""
    return record.get(f"global/{key}", record.get(f"personal/{key}"))


def _figures(record: Record) -> Record:
    return {
        key: value
        for key, value in record.items()
        if key == "round" or (key.startswith(("global/", "personal/", "outgoing/")) and not isinstance(value, list))
    }


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
