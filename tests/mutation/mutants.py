"""Mutation testing: change one thing in a source file, run the tests that execute it, and see whether one of them fails.

    python tests/mutation/mutants.py --tree . --files clients fl_strategies fl_protocol --sample 300 --seed 1 --out mutants.jsonl

The tree is copied, and only the copy is changed. First every test runs once under a trace, which tells the lines that it executes. Each
mutant is then run against the tests of its line, the cheapest first, up to --budget seconds; every such run is a fork of this process, which
has imported torch and Flower already. A second call with the same --out goes on where the first one ended. With --again it runs what was not
killed once more, for instance with a larger budget. The trace lies beside --out (.traced.json): delete it when tests have changed.
"""

from __future__ import annotations

import argparse
import compileall
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

import pytest
from mutant_operators import Mutant, key, mutants, sample  # type: ignore[import-not-found] # beside this script

PRELOADED = (
    "numpy", "torch", "sklearn.datasets", "flwr.app", "flwr.client", "flwr.clientapp", "flwr.serverapp.strategy",
    "flwr.simulation", "hypothesis", "safetensors.numpy", "ray",
)  # fmt: skip
TESTS = [f"tests/{name}" for name in ("clients", "fl_config", "fl_protocol", "fl_runs", "fl_strategies", "methods")]
UNCOPIED = (".git", ".venv", "__pycache__", ".*_cache")
TRACED, LOG = "traced.json", "pytest.log"


class Trace:
    """A pytest plug-in that notes which lines each test executes. What a fixture executes counts for the whole file of tests."""

    def __init__(self, tree: Path) -> None:
        self.names = {str(tree / file): file for file in sources(tree, ["."])}
        self.lines: dict[str, dict[str, set[int]]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    def _traced(self, name: str) -> Iterator[None]:
        seen = self.lines.setdefault(name, {})

        def entered(frame: Any, event: str, argument: Any) -> Callable[..., Any] | None:
            if (file := self.names.get(frame.f_code.co_filename)) is None:
                return None
            numbers = seen.setdefault(file, set())

            def moved(frame: Any, event: str, argument: Any) -> Callable[..., Any]:
                numbers.add(frame.f_lineno)
                return moved

            return moved

        threading.settrace(entered)
        sys.settrace(entered)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        return (yield from self._traced(item.nodeid.split("::")[0]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        return (yield from self._traced(item.nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = {test: seconds for test, seconds in self.seconds.items() if test not in self.failed}
        lines = {name: {file: sorted(seen) for file, seen in files.items()} for name, files in self.lines.items()}
        Path(TRACED).write_text(json.dumps({"seconds": passed, "lines": lines, "failed": self.failed}))


def sources(tree: Path, names: Sequence[str]) -> list[str]:
    paths = {path for name in names for path in [tree / name, *(tree / name).rglob("*.py")] if path.suffix == ".py"}
    files = sorted(str(path.relative_to(tree)) for path in paths)
    return [file for file in files if not file.startswith("tests/")]


def forked(tree: Path, tests: Sequence[str], timeout: float | None, plugins: Sequence[object] = ()) -> int | None:
    """Pytest's exit code in a fork of this process; None if the time was up. Anything but tests that fail is raised."""

    def child() -> None:
        os.setsid()
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        sys.modules["__main__"].__dict__.pop("__file__", None)  # or processes that tests start would run this script
        log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        options = ["-p", "no:cacheprovider", f"--basetemp={tree.parent / 'temporary'}", *([] if plugins else ["-x"])]
        code: int = pytest.ExitCode.INTERNAL_ERROR
        try:
            code = pytest.main([*options, *tests], plugins=list(plugins))
        finally:
            os._exit(int(code))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(timeout)
    code = process.exitcode
    if code is None and process.pid is not None:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    elif code is not None and code > pytest.ExitCode.INTERRUPTED:  # not a failed test, nor one that cannot be imported
        raise RuntimeError(f"Pytest could not run: {(tree / LOG).read_text()[-2000:]}")
    return code


def tests_of(mutant: Mutant, traced: dict[str, Any], budget: float) -> list[str]:
    """The tests that execute the innermost lines around the change which any test executes, the cheapest first.

    A line that no test executes may have been run by an import (a default, a table): then all others follow.
    """
    seconds = traced["seconds"]

    def executing(first: int, last: int) -> set[str]:
        seen = {name: files.get(mutant.file, ()) for name, files in traced["lines"].items()}
        return {name for name, lines in seen.items() if any(first <= line <= last for line in lines)}

    around = [executing(*lines) for lines in mutant.around]
    near = next(filter(None, around), executing(0, sys.maxsize))
    far = {test: not near & {test, test.split("::")[0]} for test in seconds}
    chosen: list[str] = []
    for test in sorted(seconds, key=lambda test: (far[test], float(seconds[test]))):
        budget -= seconds[test]
        if chosen and (budget < 0 or (far[test] and around[0])):
            break
        chosen.append(test)
    return chosen


def recorded(out: Path) -> dict[str, dict[str, Any]]:
    """The last record of each mutant."""
    lines = out.read_text().splitlines() if out.exists() else []
    return {key(record): record for record in map(json.loads, lines)}


def run(tree: Path, given: argparse.Namespace, out: Path) -> None:
    known, cache = recorded(out), out.with_suffix(".traced.json")
    if not cache.exists():
        print("tracing the tests", flush=True)
        forked(tree, [test for test in given.tests if (tree / test.split("::")[0]).exists()], None, [Trace(tree)])
        shutil.copy(tree / TRACED, cache)
    traced = json.loads(cache.read_text())
    if traced["failed"]:
        print("left out, as they fail without any change:", *traced["failed"])
    found = {file: list(mutants(file, (tree / file).read_bytes())) for file in sources(tree, given.files)}
    if given.again:
        survived = {name for name, record in known.items() if record["status"] != "killed"}
        wanted = [mutant for made in found.values() for mutant in made if key(mutant.record()) in survived]
    else:
        wanted = [each for each in sample(found, given.sample, given.seed) if key(each.record()) not in known]
    for number, mutant in enumerate(wanted, 1):
        began, tests = time.monotonic(), tests_of(mutant, traced, given.budget)
        original = (tree / mutant.file).read_bytes()
        (tree / mutant.file).write_bytes(mutant.source)
        code = forked(tree, tests, 60 + 5 * sum(traced["seconds"][test] for test in tests))
        (tree / mutant.file).write_bytes(original)
        status = "timeout" if code is None else "killed" if code else "survived"
        taken = {"status": status, "tests": len(tests), "seconds": round(time.monotonic() - began, 1)}
        with out.open("a") as file:
            file.write(json.dumps(mutant.record() | taken) + "\n")
        print(f"{number}/{len(wanted)} {mutant.file}:{mutant.line} {mutant.operator}: {status}", flush=True)


def summary(records: Sequence[dict[str, Any]]) -> str:
    rows = [f"{'file':48} mutants killed timeout survived"]
    for file in [*sorted({str(record["file"]) for record in records}), "all"]:
        status = [record["status"] for record in records if file in ("all", record["file"])]
        counts = [status.count(kind) for kind in ("killed", "timeout", "survived")]
        rows.append(f"{file:48} {len(status):7} {counts[0]:6} {counts[1]:7} {counts[2]:8}")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tree", type=Path, default=Path(), help="the tree to copy and to mutate")
    parser.add_argument("--files", nargs="+", default=["clients", "fl_strategies", "fl_protocol"], help="or folders")
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of tests per mutant")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--again", action="store_true", help="run once more what was not killed in --out")
    given = parser.parse_args()
    os.nice(10)
    sys.path.pop(0)  # the folder of this script
    for name in PRELOADED:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        tree = Path(scratch).resolve() / "tree"
        shutil.copytree(given.tree, tree, ignore=shutil.ignore_patterns(*UNCOPIED))
        # Bytecode is known by a hash of its source: two mutants made within one second would share a file by time.
        compileall.compile_dir(tree, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        run(tree, given, given.out.resolve())
    print(summary(list(recorded(given.out).values())))


if __name__ == "__main__":
    main()
