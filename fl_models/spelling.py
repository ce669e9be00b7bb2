"""How code that users bring is spelled: `FILE.py:NAME` or `MODULE:NAME`, read, checked and found without running it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from fl_config.errors import ConfigError
from fl_models.vision import beside_torchvision

NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place or os.sep in place


def looks_like_code(spec: str) -> bool:
    """Whether a text means code, also where the name after the colon was forgotten.

    A dotted name is meant as a module; a single word only where there is a module of that name.
    """
    place, colon, name = spec.rpartition(":")
    place = place if colon else spec
    if is_file(spec) or is_file(place):
        return True
    if not NAME.fullmatch(place) or (colon and not NAME.fullmatch(name)):
        return False
    return "." in place or find(place) is not None


def parse(spec: str) -> tuple[str, str]:
    """(file or module, name in it)."""
    place, colon, name = spec.rpartition(":")
    if not colon or not NAME.fullmatch(name):
        raise ConfigError(
            f"{spec!r} does not say what to take: write FILE.py:NAME or MODULE:NAME{_offer(place or spec)}"
        )
    return place, name


def _offer(place: str) -> str:
    """The end of a sentence: the classes of the file or module, if it can be found."""
    module = None if is_file(place) else find(place)
    try:
        tree = ast.parse(Path((module and module.origin) or place).read_bytes())
    except (OSError, SyntaxError, ValueError):
        around, _, name = place.rpartition(".")
        return f"; did you mean '{around}:{name}'?" if around and not is_file(place) else "."
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    return f", where NAME may be {', '.join(classes)}." if classes else "."


def top_level_names(text: str) -> set[str] | None:
    """The names that a text defines at its top level; None where only running it could tell."""
    names = set(_bound(ast.parse(text)))
    return None if "*" in names or "__getattr__" in names else names


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that running a node binds around it, also inside of if, try, with, for and match; not in a scope of its own."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Import(names=imported) | ast.ImportFrom(names=imported):
            yield from (each.asname or each.name.split(".")[0] for each in imported)
        case ast.Name(id=name, ctx=ast.Store()) | ast.MatchStar(name=str(name)):
            yield name
        case ast.comprehension(iter=source, ifs=conditions):  # its variable is its own
            for inner in (source, *conditions):
                yield from _bound(inner)
        case ast.Lambda():
            return
        case _:
            if isinstance(node, ast.MatchAs) and node.name:
                yield node.name
            for child in ast.iter_child_nodes(node):
                yield from _bound(child)


def find(module: str) -> ModuleSpec | None:
    """Where a module is, without running it (the packages around it are imported)."""
    # `python -m` has the current folder on its path, the command `fedloom` has not; at the end it hides nothing.
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    importlib.invalidate_caches()  # the file may have been written a moment ago
    try:
        return beside_torchvision(module, lambda: importlib.util.find_spec(module))
    except (ModuleNotFoundError, ValueError):
        return None
    except Exception as error:
        raise ConfigError(f"The package of {module!r} cannot be imported: {type(error).__name__}: {error}") from error


def spelled(thing: Any) -> str:
    """How a class or function is spelled for other processes: the opposite of `loading.resolve`."""
    name, module = getattr(thing, "__qualname__", ""), sys.modules.get(getattr(thing, "__module__", None) or "")
    if not name or "<" in name or module is None:
        raise ConfigError(
            f"{thing!r} has no name by which another process could find it: define it at the top level of a file."
        )
    file = getattr(module, "__file__", None)
    if "." in module.__name__:
        return f"{module.__name__}:{name}"
    if file is None:
        raise ConfigError(
            f"{name} was defined in an interactive session, which other processes cannot read: put it in a file."
        )
    place = os.path.relpath(file) if Path(file).resolve().is_relative_to(Path.cwd()) else file
    return f"{place}:{name}"
