"""A page of the docs as something that can be executed, block by block, in one folder.

A Python block that opens with `# name.py` becomes that file, any other is run as a script. A shell block is run command by command:
`fedloom` commands in processes that start with everything imported, which saves seconds for each, and others by bash. Runs are made
inline with at most two rounds. A comment before a block says where it is run otherwise than it is printed:

    <!-- short: FLAGS -->       these flags are put behind those of the `fedloom` commands, and win over them
    <!-- parsed: why -->        only the command line is parsed
"""

from __future__ import annotations

import multiprocessing
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedloom.cli.main import build_parser, main

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"(?:<!-- (short|parsed): ([^\n]*) -->\n)?```(python|sh)\n(.*?)```", re.DOTALL)
HEREDOC = re.compile(r".*<<'(\w+)'")
IMPORTED = ["fedloom.cli.main", "simulation.runner", "client_app", "server_app", "simulation.engines.inline"]
IMPORTED += ["simulation.report.page", "fl_runs.progress", "sklearn.metrics", "pyarrow.csv"]
INLINE = ["--engine", "inline", "--device", "cpu", "--rounds", "2"]


class Block(NamedTuple):
    marker: str
    remark: str
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))]


def statements(text: str) -> Iterator[str]:
    """The commands of a shell block, those over several lines in one piece."""
    lines = iter(text.replace("\\\n", "").splitlines())
    for line in lines:
        if opened := HEREDOC.match(line):
            body = [line]
            while body[-1] != opened[1]:
                body.append(next(lines))
            yield "\n".join(body)
        elif line.strip():
            yield line


def processes() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


def execute(page: str, folder: Path) -> list[list[str]]:
    """Run a page; returns the words of its `fedloom` commands as they were run. Raises where one does not end well."""
    write_small(folder / "small.npz")
    ran = []
    for block in blocks(page):
        if block.language == "python":
            named = re.match(r"# (\w+\.py)\n", block.text)
            name = named[1] if named else "block.py"
            (folder / name).write_text(block.text)
            if not named:
                shell(f"python {name}", folder)
            continue
        for statement in statements(block.text):
            program, *words = shlex.split(statement)
            if program not in ("fedloom", ".venv/bin/fedloom"):
                shell(statement.replace(".venv/bin/python", "python"), folder)
                continue
            build_parser().parse_args(words)
            if block.marker != "parsed":
                words += [*(INLINE if words[0] == "run" else []), *block.remark.split()]
                fedloom(words, folder)
                ran.append(words)
    return ran


def fedloom(words: list[str], folder: Path) -> None:
    said = folder / "said.txt"
    process = processes().Process(target=_fedloom, args=(words, folder, said))
    process.start()
    process.join(200)
    assert process.exitcode == 0, f"{shlex.join(words)}\n{said.read_text()}"


def _fedloom(words: list[str], folder: Path, said: Path) -> None:
    os.chdir(folder)
    file = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    code = main(words)
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)


def shell(statement: str, folder: Path) -> None:
    """Where a page says `python`, it is this one, with our packages."""
    root = str(DOCS.parent)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", statement],
        check=False,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, f"{statement}\n{done.stdout}{done.stderr}"


def write_small(file: Path) -> None:
    """Images like those of fashion-mnist, but few."""
    random = np.random.default_rng(0)
    x, y = random.integers(0, 256, (240, 28, 28)).astype(np.uint8), np.arange(240) % 10
    np.savez(file, x_train=x[:200], y_train=y[:200], x_test=x[200:], y_test=y[200:])
