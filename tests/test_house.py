"""The house itself: which room may know which, how large a room may be, and where each test stands.

It reads the source and imports none of it. Every table of exceptions is literal and must not be longer than needed: a
row that is no longer true fails as well.
"""

from __future__ import annotations

import ast
import graphlib
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# A module may import from its own room and from rooms on lower floors; rooms on one floor do not know each other.
FLOORS = {
    "fl_config": 0,
    "fl_data": 1,
    "fl_models": 2,
    "fl_tasks": 3,
    "fl_protocol": 4,
    "clients": 5,
    "fl_strategies": 5,
    "fl_runs": 6,
    "server_app": 7,
    "client_app": 7,
    "simulation": 8,
    "deploy": 8,
    "fedloom": 9,
    "experiments": 10,
    "docs": 10,
}

AGAINST_THE_DIRECTION = {
    # The old front door, `python -m simulation`, leads to the new one.
    ("simulation.__main__", "fedloom.cli.main"),
    # A method with two halves is declared in one of them.
    ("fl_strategies.server_update.dc", "clients.objectives.dc"),
    ("fl_strategies.server_update.dyn", "clients.objectives.dyn"),
    ("fl_strategies.server_update.dyn", "clients.optimizers"),  # FedSpeed's parameters
    ("fl_strategies.server_update.scaffold", "clients.objectives.scaffold"),
    ("fl_strategies.server_update.ssg", "clients.objectives.ssg"),
    ("fl_strategies.server_update.vra", "clients.objectives.vra"),
    # The server's half asks the client's which arrays are private.
    ("fl_strategies.topologies.base", "clients.topologies.base"),
}

METHODS = (
    "clients.answers",
    "clients.objectives",
    "clients.optimizers",
    "clients.topologies",
    "fl_strategies.weighting",
    "fl_strategies.server_update",
    "fl_strategies.clustering",
    "fl_strategies.topologies",
)

# Code that serves every method and therefore names none; where it seems to need to, a hook is missing.
NEUTRAL = (
    "clients.client",
    "clients.hosting",
    "clients.training",
    "fl_protocol",
    "fl_strategies.meaning",
    "fl_strategies.round",
    "fl_strategies.strategy",
    "fl_runs.plan",
)
LARGEST_NEUTRAL = 300
PLAIN_WORDS = {"shared", "local"}  # also names of parts: the topology that a message means by default, and a keyword

LARGEST, LARGE, MOST_LARGE, MOST_ENTRIES = 400, 250, 7, 15

WITHOUT_A_TEST = {
    "fl_protocol/flower/in_process.py": "starts Flower's whole simulation: tests/simulation/engines/test_engines.py",
}
MIRRORED = ("fl_config", "fl_data", "fl_models", "fl_tasks", "fl_protocol", "clients", "fl_strategies", "fl_runs")
WHOLE_RUNS = ("methods", "mutation", "runs")  # folders of tests that belong to no single module
TESTS_OF_MANY = {
    "fedloom/cli/test_thirty_mistakes.py": "wrong commands of every kind, each answered by one sentence",
    "docs/test_blocks.py": "every block of README and pages is executed, or says why not",
    "docs/test_deployment_page.py": "the page about deployment, with a federation on this machine",
    "docs/test_own_pages.py": "the pages for those who bring something of their own, and what their blocks leave",
    "fedloom/test_wheel.py": "the wheel has everything that the installed commands read",
    "deploy/drills/test_bad_input.py": "rubbish against the open port",
    "deploy/drills/test_soak.py": "a federation that is disturbed again and again",
    "deploy/test_faults.py": "a site, its app or its link breaks",
    "deploy/test_federation.py": "a server and its clients as processes, from registration to the report",
    "deploy/test_private.py": "clients that have data of their own",
    "deploy/test_security.py": "who is let in, and what an eavesdropper sees",
    "fl_strategies/round/test_flower_seam.py": "where Flower's wrappers and subclasses take hold of a strategy",
}

SHARED_NAMES = {
    "cuau.py": "the mathematics, both halves of the topology and the published tables of FedCUAU",
    "discrepancy.py": "the mathematics, and the answer of a client",
    "options.py": "of a run, and of a strategy",
    "partition.py": "the command of that name, and the picture of a partition",
    "parts.py": "how parts declare themselves, and the table of all that there are",
    "samples.py": "samples of a data set, and FedSSA's weights of each sample",
    "state.py": "what a client and what a run remembers",
    "trial.py": "a federation on this machine, and the command that makes one",
    "text.py": "reading texts and a model of texts",
}
HALVES = {"clients": ("objectives", "topologies"), "fl_strategies": ("server_update", "topologies", "weighting")}


@dataclass(frozen=True)
class Import:
    module: str  # of ours or of others; a submodule where `from package import submodule` names one
    name: str  # what is taken from it; empty for `import module`
    when_loaded: bool  # not inside a function, not for type checkers only


@cache
def modules() -> dict[str, Path]:
    """Every source file by its dotted name."""
    files = [path for room in FLOORS for path in (ROOT / f"{room}.py", *sorted((ROOT / room).rglob("*.py")))]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in files
        if path.is_file()
    }


def statements(node: ast.AST, when_loaded: bool = True) -> Iterator[tuple[ast.stmt, bool]]:
    """The import statements below a node, and whether they run when the module is loaded."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, when_loaded
        later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        )
        yield from statements(child, when_loaded and not later)


@cache
def imports(module: str) -> list[Import]:
    found = []
    for statement, when_loaded in statements(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        if isinstance(statement, ast.Import):
            found += [Import(alias.name, "", when_loaded) for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            assert statement.module and not statement.level, f"{module}, line {statement.lineno}: a relative import"
            for alias in statement.names:
                inner = f"{statement.module}.{alias.name}"
                found.append(Import(inner if inner in modules() else statement.module, alias.name, when_loaded))
    return found


def room(module: str) -> str:
    return module.partition(".")[0]


def test_the_tree_is_there() -> None:
    """Without this, a renamed folder would make every test below true of nothing."""
    assert {room(module) for module in modules()} == set(FLOORS)
    assert imports("client_app") and imports("fl_strategies.strategy")


def test_imports_go_one_way() -> None:
    against = {
        (module, each.module)
        for module in modules()
        for each in imports(module)
        if room(each.module) in FLOORS
        and room(each.module) != room(module)
        and FLOORS[room(each.module)] >= FLOORS[room(module)]
    }
    assert against - AGAINST_THE_DIRECTION == set(), "new imports against the direction of DESIGN.md, section 3"
    assert AGAINST_THE_DIRECTION - against == set(), "these exceptions are no longer needed: take them out of the table"


def test_no_module_needs_itself_to_be_loaded() -> None:
    needs = {
        module: {each.module for each in imports(module) if each.when_loaded and each.module in modules()} - {module}
        for module in modules()
    }
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        raise AssertionError(f"an import cycle: {' <- '.join(error.args[1])}") from error


def test_methods_know_neither_flower_nor_ray() -> None:
    wrong = [
        (module, each.module)
        for module in modules()
        if any(module == method or module.startswith(f"{method}.") for method in METHODS)
        for each in imports(module)
        if room(each.module) in ("flwr", "ray")
    ]
    assert wrong == []


def part_names() -> set[str]:
    """Names of all parts, as they declare themselves."""
    return {
        str(decorator.args[0].value)
        for path in modules().values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id == "part"
        and isinstance(decorator.args[0], ast.Constant)
    }


def test_neutral_code_names_no_method() -> None:
    names = part_names()
    assert {"prox", "disco", "cuau", "sam", *PLAIN_WORDS} <= names
    wrong = []
    for module, path in modules().items():
        if any(module == neutral or module.startswith(f"{neutral}.") for neutral in NEUTRAL):
            text = path.read_text(encoding="utf-8")
            assert text.count("\n") < LARGEST_NEUTRAL, module
            said = {str(node.value) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
            wrong += [(module, name) for name in sorted(said & (names - PLAIN_WORDS))]
    assert wrong == []


def test_nothing_private_is_imported_from_elsewhere() -> None:
    wrong = [
        f"{module}: from {each.module} import {each.name}"
        for module in modules()
        for each in imports(module)
        if room(each.module) in FLOORS and each.name.startswith("_") and not each.name.startswith("__")
    ]
    assert wrong == []


def test_files_fit_on_a_few_screens() -> None:
    lines = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in modules().values()}
    assert {name: count for name, count in lines.items() if count > LARGEST} == {}
    large = {name: count for name, count in lines.items() if count > LARGE}
    assert len(large) <= MOST_LARGE, f"{len(large)} files above {LARGE} lines: {large}"
    tests = {str(path.relative_to(ROOT)): path for path in (ROOT / "tests").rglob("*.py")}
    lines = {name: path.read_text(encoding="utf-8").count("\n") for name, path in tests.items()}
    assert {name: count for name, count in lines.items() if count > LARGEST} == {}


def holds_files(folder: Path) -> bool:
    """Whether a folder is more than what Python left there of deleted files."""
    return any(item.is_file() and item.parent.name != "__pycache__" for item in folder.rglob("*"))


def test_folders_fit_on_one_screen() -> None:
    """Not the top folders, of the tree and of its tests, where the rooms stand; nor experiments, whose results are data."""
    folders = {path.parent for module, path in modules().items() if room(module) != "experiments"}
    folders |= {path.parent for path in (ROOT / "tests").rglob("*.py")}
    folders -= {ROOT, ROOT / "tests"}
    entries = {
        str(folder.relative_to(ROOT)): sum(item.is_file() or holds_files(item) for item in folder.iterdir())
        for folder in folders
    }
    assert {name: count for name, count in entries.items() if count > MOST_ENTRIES} == {}


def test_every_module_has_its_test() -> None:
    missing = set()
    for module, path in modules().items():
        place = path.relative_to(ROOT)
        if room(module) not in MIRRORED or path.name == "__init__.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        behaves = any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in tree.body)
        if behaves and not (ROOT / "tests" / place.with_name(f"test_{place.name}")).is_file():
            missing.add(place.as_posix())
    assert missing - WITHOUT_A_TEST.keys() == set(), "modules without a test at the mirrored place"
    assert WITHOUT_A_TEST.keys() - missing == set(), "these have a test, or are gone: take them out of the table"


def test_every_test_stands_where_its_module_says() -> None:
    """A package's own file is tested in `test_PACKAGE.py`, beside the package's folder of tests or in it."""
    lost = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        place = path.relative_to(ROOT / "tests")
        name = place.stem.removeprefix("test_")
        tested = ".".join((*place.parts[:-1], name))
        package = ".".join(place.parts[:-1]) if name == place.parent.name else tested
        known = tested in modules() or any((ROOT / each.replace(".", "/")).is_dir() for each in (tested, package))
        if not known and place.parts[0] not in WHOLE_RUNS and path != Path(__file__).resolve():
            lost.add(place.as_posix())
    assert sorted(lost - TESTS_OF_MANY.keys()) == [], (
        "tests of no module; name them after one, or put them into tests/methods or tests/runs"
    )
    assert TESTS_OF_MANY.keys() - lost == set(), "these are gone, or have a module now: take them out of the table"


def test_two_files_share_a_name_only_as_halves_of_one_method() -> None:
    named: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for path in modules().values():
        if path.stem not in ("__init__", "__main__", "base"):
            named[path.name].append(path.relative_to(ROOT).parts)
    twins = {
        name
        for name, places in named.items()
        if len(places) > 1
        and not (
            sorted(parts[0] for parts in places) == sorted(HALVES)
            and all(parts[1] in HALVES[parts[0]] for parts in places)
        )
    }
    assert twins - SHARED_NAMES.keys() == set(), "two files of one name"
    assert SHARED_NAMES.keys() - twins == set(), "these are no longer shared: take them out of the table"


def test_the_citation_names_the_version_that_is_built() -> None:
    cited = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (cited["version"], cited["license"]) == (built["version"], built["license"])
    assert {"cff-version", "message", "title", "type"} <= cited.keys()
