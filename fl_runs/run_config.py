"""Keeps the run config in pyproject.toml equal to the declared options: `python -m fl_runs.run_config` rewrites it."""

from __future__ import annotations

import sys
from pathlib import Path

from fl_config.options import Options, as_flat
from fl_config.toml import Scalar, to_toml
from fl_strategies.recipes import flat_parameters

BEGIN = "# Begin of the run config, written by `make run-config`: every option and part parameter with its default.\n"
END = "# End of the run config.\n"
TABLE = "tool.flwr.app.config"


def defaults() -> dict[str, Scalar]:
    """Every option and every parameter of a part, under its flat key."""
    return {**as_flat(Options()), **flat_parameters()}


def block() -> str:
    """The defaults as pyproject.toml holds them, between two comments that mark the block."""
    # Line breaks within values are escaped, so that only the heading of a part's table begins a line with a bracket.
    text = to_toml(defaults()).replace("\n[", f"\n[{TABLE}.")
    return f"{BEGIN}[{TABLE}]\n{text}{END}"


def rewrite(path: Path) -> None:
    """Replace the block in this file, or append it where there is none."""
    text = path.read_text(encoding="utf-8")
    if BEGIN in text:
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
    else:
        before, after = text + "\n", ""
    path.write_text(before + block() + after, encoding="utf-8")


if __name__ == "__main__":
    rewrite(Path(sys.argv[1] if len(sys.argv) > 1 else "pyproject.toml"))
