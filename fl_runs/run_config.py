"""Keeps the run config in pyproject.toml equal to the declared options: `python -m fl_runs.run_config` rewrites it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fl_config.options import Options, as_flat
from fl_config.toml import Scalar
from fl_strategies.recipes import flat_parameters

BEGIN = "# Begin of the run config, written by `make run-config`: every option and part parameter with its default.\n"
END = "# End of the run config.\n"


def defaults() -> dict[str, Scalar]:
    return {**as_flat(Options()), **flat_parameters()}


def block() -> str:
    values = defaults()
    lines = [BEGIN, "[tool.flwr.app.config]\n"]
    lines += [f"{key} = {json.dumps(value)}\n" for key, value in values.items() if "." not in key]
    tables: dict[str, list[str]] = {}
    for key, value in values.items():
        if "." in key:
            part, name = key.split(".")
            tables.setdefault(part, []).append(f"{name} = {json.dumps(value)}\n")
    for part in sorted(tables):
        lines += ["\n", f"[tool.flwr.app.config.{part}]\n", *tables[part]]
    return "".join([*lines, END])


def rewrite(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if BEGIN in text:
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
    else:
        before, after = text + "\n", ""
    path.write_text(before + block() + after, encoding="utf-8")


if __name__ == "__main__":
    rewrite(Path(sys.argv[1] if len(sys.argv) > 1 else "pyproject.toml"))
