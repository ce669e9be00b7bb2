"""A page of the docs as something that can be executed, block by block, in one folder.

A Python block that opens with `# name.py` becomes that file, any other is run as a script. A shell block is run command by command:
`fedloom` commands and scripts in processes that start with everything imported, which saves seconds for each, and others by bash. Runs
are made inline with at most two rounds. A comment before a block says where it is run otherwise than it is printed:

    <!-- short: FLAGS -->             these flags are put behind those of the `fedloom` commands, and win over them
    <!-- short: OLD -> NEW; ... -->   of a Python block: the words that are replaced
    <!-- goes on: FLAGS -->           commands that end by Ctrl-C only: with these flags they have to say where they are, go on while
                                      the rest of the page is executed, and end well
    <!-- not run: why -->             the lines that begin with `fedloom` are parsed, and nothing is run

A block without a language is text, of which the `fedloom` lines are parsed, too.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedloom.cli.main import build_parser, main

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(
    r"^(?:<!-- (short|goes on|not run): ([^\n]*) -->\n)?```([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
HEREDOC = re.compile(r".*<<'(\w+)'")
IMPORTED = ["fedloom.cli.main", "simulation.runner", "client_app", "server_app", "simulation.engines.inline"]
IMPORTED += ["simulation.report.page", "fl_runs.progress", "sklearn.metrics", "pyarrow.csv"]
INLINE = ["--engine", "inline", "--device", "cpu", "--rounds", "2"]
COMMANDS = ("fedloom", ".venv/bin/fedloom")
INTERRUPTED = 130


class Block(NamedTuple):
    marker: str
    remark: str
    language: str
    text: str

    @property
    def runs(self) -> bool:
        return self.marker != "not run" and self.language in ("python", "sh")


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


def commands(block: Block) -> list[list[str]]:
    """The words of the `fedloom` commands in a block, whatever it is."""
    lines = [line.strip() for line in statements(block.text)] if block.language in ("sh", "") else []
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith(tuple(f"{c} " for c in COMMANDS))]


def processes() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


def execute(page: str, folder: Path) -> list[list[str]]:
    """Run a page; returns the words of its `fedloom` commands as they were run. Raises where one does not end well."""
    write_small(folder / "small.npz")
    ran = []
    with contextlib.ExitStack() as until_the_end:
        for block in blocks(page):
            for words in commands(block):
                build_parser().parse_args(words)
            if block.runs and block.language == "python":
                script(block, folder)
            for statement in statements(block.text) if block.runs and block.language == "sh" else ():
                program, *words = shlex.split(statement, comments=True) if "<<" not in statement else [""]
                if program in COMMANDS:
                    words += [*(INLINE if words[0] == "run" else []), *shlex.split(block.remark)]
                    if block.marker == "goes on":
                        until_the_end.enter_context(going_on(words, folder))
                    else:
                        apart(fedloom, words, folder)
                    ran.append(words)
                elif program or "<<" in statement:
                    shell(statement.replace(".venv/bin/python", "python"), folder)
    return ran


def script(block: Block, folder: Path) -> None:
    text = block.text
    for change in block.remark.split("; ") if block.marker == "short" else ():
        old, new = change.split(" -> ")
        assert old in text, f"{old!r} is not in the block that is to be shortened"
        text = text.replace(old, new)
    named = re.match(r"# (\w+\.py)\n", text)
    name = named[1] if named else "block.py"
    (folder / name).write_text(text)
    if not named:
        apart(_script, [name], folder)


def apart(job: Callable[[list[str]], int], words: list[str], folder: Path) -> None:
    """Do a job in a process of its own, in the folder; it must end well."""
    said = folder / "said.txt"
    process = begun(job, words, folder, said)
    code = ended(process, 300)
    assert code == 0, f"{shlex.join(words)}\n{said.read_text()}"


@contextlib.contextmanager
def going_on(words: list[str], folder: Path) -> Iterator[Path]:
    """A `fedloom` command that goes on until it is interrupted, from when it has said something; gives the file of what it says."""
    said = folder / f"said-by-{words[0]}-{len(list(folder.glob('said-by-*')))}.txt"
    process = begun(fedloom, words, folder, said)
    try:
        last = time.monotonic() + 120
        while not (said.exists() and said.stat().st_size) and process.is_alive() and time.monotonic() < last:
            time.sleep(0.05)
        yield said
        assert process.is_alive(), f"{shlex.join(words)} ended by itself\n{said.read_text()}"
        assert said.read_text(), f"{shlex.join(words)} said nothing"
    finally:
        if process.is_alive() and process.pid is not None:
            os.kill(process.pid, signal.SIGINT)
        code = ended(process, 60)
    assert code in (0, INTERRUPTED), f"{shlex.join(words)} ended with {code}\n{said.read_text()}"


def begun(job: Callable[[list[str]], int], words: list[str], folder: Path, said: Path) -> BaseProcess:
    process = processes().Process(target=_in_folder, args=(job, words, folder, said))
    process.start()
    return process


def ended(process: BaseProcess, seconds: float) -> int | None:
    """Its exit code; nothing is left behind, also where it did not end in time."""
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode


def _in_folder(job: Callable[[list[str]], int], words: list[str], folder: Path, said: Path) -> None:
    os.chdir(folder)
    file = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    code = job(words)
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)


def fedloom(words: list[str]) -> int:
    return main(words)


def _script(words: list[str]) -> int:
    sys.path.insert(0, os.getcwd())
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")
    return 0


def shell(statement: str, folder: Path) -> None:
    """Where a page says `python`, it is this one, with our packages."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", statement],
        check=False,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{statement}\n{done.stdout}{done.stderr}"


def write_small(file: Path) -> None:
    """Images like those of fashion-mnist, but few."""
    random = np.random.default_rng(0)
    x, y = random.integers(0, 256, (240, 28, 28)).astype(np.uint8), np.arange(240) % 10
    np.savez(file, x_train=x[:200], y_train=y[:200], x_test=x[200:], y_test=y[200:])
