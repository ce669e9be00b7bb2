"""A run's state as one file, written whole or not at all: arrays as safetensors, the few numbers beside them in its header."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from fl_config.errors import ConfigError
from fl_config.files import write_atomically
from fl_protocol.types import ClientId
from fl_strategies.population.tally import Tally
from fl_strategies.round.state import RunState

FORMAT = "3"
FILE = "state.safetensors"


def save_checkpoint(folder: Path, state: RunState) -> None:
    arrays: dict[str, NDArray[Any]] = {"omega": state.omega}
    arrays |= {f"buffer/{name}": value for name, value in state.buffers.items()}
    arrays |= {f"part/{part}/{name}": value for part, own in state.parts.items() for name, value in own.items()}
    if state.customised is not None:
        arrays["customised"] = state.customised
    arrays |= state.acked.write("acked")
    arrays |= {f"client/{json.dumps(client)}": vector for client, vector in state.client_models.items()}
    header = {
        "format": FORMAT,
        "round": str(state.round),
        "key": state.key,
        "parts": json.dumps(list(state.parts)),
    }
    content = save({name: np.asarray(value, order="C") for name, value in arrays.items()}, metadata=header)
    write_atomically(folder / FILE, content)


def load_checkpoint(folder: Path) -> RunState:
    path = folder / FILE
    if not path.exists():
        raise ConfigError(
            f"There is no checkpoint in {folder}: the run ended before its first round was finished, start it anew."
        )
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except SafetensorError as error:
        raise ConfigError(f"The checkpoint {path} cannot be read ({error}).") from None
    if header.get("format") == "1":
        header, arrays = _from_version_0_1(header, arrays)
    if header.get("format") == "2":
        header, arrays = _from_version_0_2(header, arrays)
    if header.get("format") != FORMAT:
        raise ConfigError(
            f"The checkpoint {path} has the format {header.get('format')!r}, this version reads {FORMAT!r}: resume the run with "
            "the FedLoom that wrote it (summary.json or log.txt beside it name the version)."
        )
    parts: dict[str, dict[str, NDArray[Any]]] = {part: {} for part in json.loads(header["parts"])}
    for name, value in arrays.items():
        if name.startswith("part/"):
            _, part, key = name.split("/", 2)
            parts.setdefault(part, {})[key] = value

    def under(prefix: str) -> dict[str, NDArray[Any]]:
        return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}

    return RunState(
        round=int(header["round"]),
        key=header["key"],
        omega=arrays["omega"],
        buffers=under("buffer/"),
        parts=parts,
        acked=Tally.read(arrays, "acked"),
        customised=arrays.get("customised"),
        client_models={json.loads(name): vector for name, vector in under("client/").items()},
    )


def _from_version_0_1(
    header: dict[str, str], arrays: dict[str, NDArray[Any]]
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Format 1 kept server steps and weightings apart, and a weighting's keys began with its name."""
    renamed: dict[str, NDArray[Any]] = {}
    for name, value in arrays.items():
        kind, _, rest = name.partition("/")
        if kind == "step":
            renamed[f"part/{rest}"] = value
        elif kind == "weighting":
            renamed["part/disco/sum:class_counts" if rest == "class-totals" else f"part/{rest}"] = value
        else:
            renamed[name] = value
    return {**header, "format": "2", "parts": header["steps"]}, renamed


def _from_version_0_2(
    header: dict[str, str], arrays: dict[str, NDArray[Any]]
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Format 2 kept the acknowledged rounds in its header, and the clients that a part counted as JSON beside their counts."""
    acked: dict[ClientId, int] = {client: round for client, round in json.loads(header["acked"])}
    renamed = {**arrays, **Tally(acked).write("acked")}
    for name in arrays:
        part, _, key = name.rpartition("/")
        if key == "counted":
            clients, counts = json.loads(renamed.pop(name).tobytes()), renamed.pop(f"{part}/counts").tolist()
            renamed |= Tally(dict(zip(clients, counts, strict=True))).write(f"{part}/counts")
    return {**header, "format": FORMAT}, renamed
