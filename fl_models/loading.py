"""Code that users bring (`my_net.py:Net`, `package.module:Net`) as an object, and its text, which travels with a run.

A file stands for itself: it is run from its text, under a private module name that is made of the text, on the machine that
has the file and on workers that have only the text alike. A module is imported where it is installed with the same
text, and made of the text elsewhere.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.abc
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from fl_config.errors import ConfigError, nearest
from fl_models.spelling import find, is_file, parse, spelled, top_level_names
from fl_models.vision import beside_torchvision

PRIVATE = "fedloom_own_"  # how the names of modules that are made of a text begin
Answer = TypeVar("Answer")
_running: list[str] = []


class Source(NamedTuple):
    """A text of the user's: the file (as it was spelled) or the module that it is from, the text itself, its SHA-256."""

    place: str
    text: str
    sha256: str

    @classmethod
    def of(cls, place: str, text: str) -> Source:
        return cls(place, text, sha256_of(text))


def source_of(spec: Any) -> Source:
    """The text behind a spelling, or behind a class or function; it is not run."""
    place, _ = parse(spec if isinstance(spec, str) else spelled(spec))
    return read_source(place)


def read_source(place: str) -> Source:
    """The text of a file or an installed module; it is not run."""
    path = Path(place)
    if not is_file(place):
        found = find(place)
        if found is None:
            raise ConfigError(
                f"There is no module {place!r} here: install it, start in the folder that holds it, or write FILE.py:NAME."
            )
        if found.origin is None or not found.origin.endswith(".py"):
            raise ConfigError(f"The module {place!r} has no Python text that could travel with the run.")
        path = Path(found.origin)
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ConfigError(f"The file {place} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise ConfigError(f"The file {place} is not UTF-8 text.") from None
    return Source.of(place, text)


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def check_code(spec: str) -> None:
    """Raise ConfigError unless the file or module is there and defines the name; it is not run."""
    place, name = parse(spec)
    try:
        names = top_level_names(read_source(place).text)
    except SyntaxError as error:
        raise ConfigError(f"{place} is not Python: {error.msg} (line {error.lineno}).") from None
    if names is not None and name.split(".")[0] not in names:
        raise ConfigError(f"{place} has no {name!r}{nearest(name, sorted(names))}")


def resolve(spec: Any, source: Source | None = None) -> Any:
    """The object that a spelling names; an object is returned as it is. `source` is the text to use instead of the disk's."""
    if not isinstance(spec, str):
        return spec
    place, name = parse(spec)
    source = read_source(place) if source is None else source
    found: Any = resolve_module(source)
    for part in name.split("."):
        if not hasattr(found, part):
            public = [each for each in vars(found) if not each.startswith("_")]
            raise ConfigError(f"{place} has no {name!r}{nearest(part, public)}")
        found = getattr(found, part)
    return found


def resolve_module(source: Source) -> ModuleType:
    """The module behind a text: imported where it is installed as it is, made of the text elsewhere."""
    return from_text(source.place, source.text) if is_file(source.place) else _imported(source.place, source)


def from_text(place: str, text: str) -> ModuleType:
    """The text as a module, in `sys.modules` under a name that depends on nothing but `place` and the text."""
    stem = re.sub(r"\W", "_", Path(place).name.removesuffix(".py"))
    name = f"{PRIVATE}{stem}_{sha256_of(text)[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    loader = _TextLoader(place, text)
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        run(place, lambda: beside_torchvision(text, lambda: loader.exec_module(module)))
    except BaseException:
        del sys.modules[name]
        raise
    return module


class _TextLoader(importlib.abc.ExecutionLoader):
    """Makes a module of a text; through it `inspect` and tracebacks find the lines also where there is no file."""

    def __init__(self, place: str, text: str) -> None:
        self.place, self.text = place, text

    def get_filename(self, fullname: str) -> str:
        return self.place

    def get_source(self, fullname: str) -> str:
        return self.text


def _imported(place: str, source: Source) -> ModuleType:
    try:
        installed = read_source(place).text
    except ConfigError:
        installed = None
    if installed != source.text:
        return from_text(place, source.text)
    return run(place, lambda: beside_torchvision(source.text, lambda: importlib.import_module(place)))


def being_loaded() -> str:
    """The file or module of the user's that is being run at this moment, if any: it must not start a run itself."""
    return _running[-1] if _running else ""


def run(place: str, action: Callable[[], Answer]) -> Answer:
    """Run code of the user's; what it raises becomes a sentence."""
    _running.append(place)
    try:
        return action()
    except ConfigError:
        raise
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{place} imports {error.name!r}, which is not installed here: a file must hold all that it needs, or import "
            "what is installed on every machine of the run."
        ) from error
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{place} fails{_line(error, place)}: {type(error).__name__}: {error}") from error
    finally:
        _running.pop()


def _line(error: BaseException, place: str) -> str:
    """Where in the text of the user's an error comes from."""
    if isinstance(error, SyntaxError):
        return f" in line {error.lineno}"
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == place:
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if line is None else f" in line {line}"
