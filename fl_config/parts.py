"""What a part is, and how it declares itself where it is written.

    @part("prox", slot="objective", what="+ mu/2 |theta - omega|^2", paper="fedprox", year=2020)
    class Prox(Objective): ...

A part may have several halves: what a client does and what the server does. One of them declares the part, the others say to which
they belong by `@half("dyn")`. What kind of half a class is, its base class says (`kind`). Everything else that must be known of a part
(does it need the server's target data, does a client remember something for it) is an attribute of its halves.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import EntryPoints, entry_points
from typing import Any, TypeVar

from fl_config.errors import ConfigError
from fl_config.params import Params

# In the order in which the parts of a recipe are named, act on the server and are added to the loss. One slot takes one part, except
# "objective", which takes any number, and "topology", where one may stand around another.
SLOTS = (
    "topology",
    "drift",
    "weighting",
    "normaliser",
    "server optimizer",
    "polish",
    "objective",
    "optimizer",
)
Class = TypeVar("Class", bound=type)
ENTRY_POINTS = "fedloom.parts"


@dataclass(frozen=True)
class Part:
    """A declaration. `equation` is LaTeX, as inside of `aligned`; `paper` is a key of fl_config/papers.py, or a few words; `year` orders
    parts of one slot, older ones first; `plugin`: it may stand after a +."""

    name: str
    slot: str
    what: str
    equation: str = ""
    paper: str = ""
    year: int = 9999
    plugin: bool = True
    halves: dict[str, type] = field(default_factory=dict, compare=False)

    def half(self, kind: str) -> Any:
        """The class of one kind, or None."""
        return self.halves.get(kind)

    @property
    def params(self) -> type[Params]:
        """The parameters, which any half may declare; two halves declare the same class."""
        declared = (half.Params for half in self.halves.values() if half.Params is not Params)  # type: ignore[attr-defined]
        return next(declared, Params)

    def says(self, trait: str) -> Any:
        """What one of the halves says of itself under this name, if it says something that counts."""
        return next((value for half in self.halves.values() if (value := getattr(half, trait, None))), None)

    @property
    def order(self) -> tuple[int, int, str]:
        return SLOTS.index(self.slot), self.year, self.name


_declared: dict[str, Part] = {}
_halves: dict[str, dict[str, type]] = {}  # by part and kind; a half may be read before its part is declared


def part(
    name: str, *, slot: str, what: str, equation: str = "", paper: str = "", year: int = 9999, plugin: bool = True
) -> Callable[[Class], Class]:
    """Declare a part on its class."""
    if slot not in SLOTS:
        raise ConfigError(f"The part {name!r} names the slot {slot!r}, but slots are {', '.join(SLOTS)}.")

    def declare(made: Class) -> Class:
        other = _declared[name].half(made.kind) if name in _declared else None  # type: ignore[attr-defined]
        if other is not None and not same_plugin(other, made):
            raise ConfigError(
                f"Two parts are called {name!r}, one in {other.__module__} and one in {made.__module__}: rename one."
            )
        _declared[name] = Part(
            name, slot, what, inspect.cleandoc(equation), paper, year, plugin, _halves.setdefault(name, {})
        )
        return half(name)(made)

    return declare


def same_plugin(one: Any, other: Any) -> bool:
    """Whether two classes or functions come from one file. A module made of a user's text bears a part of its SHA-256: edited and
    read again in one process it is still the same plug-in."""
    first, second = (re.sub(r"_[0-9a-f]{16}$", "", each.__module__) for each in (one, other))
    return first == second


def half(name: str) -> Callable[[Class], Class]:
    """Say that a class is one half of the part of this name."""

    def join(made: Class) -> Class:
        kind: str = made.kind  # type: ignore[attr-defined]
        _halves.setdefault(name, {})[kind] = made
        return made

    return join


@contextlib.contextmanager
def undone() -> Iterator[None]:
    """Forget afterwards which parts were declared inside, as a look at somebody's plug-in should."""
    parts, halves = dict(_declared), {name: dict(own) for name, own in _halves.items()}
    try:
        yield
    finally:
        for name in [name for name in _declared if name not in parts]:
            del _declared[name]
        for name, own in _halves.items():
            own.clear()  # in place: a declaration holds this very dict
            own.update(halves.get(name, {}))


def declared() -> dict[str, Part]:
    """Every part that has been read so far, in the order of the slots."""
    return {one.name: one for one in sorted(_declared.values(), key=lambda one: one.order)}


def lookup(name: str) -> Part:
    """The declaration of this name, among those that have been read so far."""
    return _declared[name]


def find(kind: str, name: str) -> Any:
    """One half by the name of its part; a sentence where there is none."""
    found = _halves.get(name, {}).get(kind)
    if found is None:
        have = sorted(part for part, halves in _halves.items() if kind in halves)
        raise ConfigError(f"There is no {kind} {name!r} here; there are {', '.join(have)}.")
    return found


@functools.cache
def read_rooms(rooms: tuple[str, ...]) -> None:
    """Import every module of these packages, so that the parts in them declare themselves."""
    for room in rooms:
        package = importlib.import_module(room)
        for name in _modules(package):
            importlib.import_module(name)
    read_installed()


@functools.cache
def read_installed() -> None:
    """Import the modules that installed packages name under the entry point group `fedloom.parts`."""
    for point in installed_plugins():
        try:
            point.load()
        except Exception as error:
            raise ConfigError(
                f"The installed plug-in {point.name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}. "
                "Mend or uninstall its package."
            ) from error


def installed_plugins() -> EntryPoints:
    """The modules of parts that installed packages name."""
    return entry_points(group=ENTRY_POINTS)


def _modules(package: Any) -> Iterable[str]:
    paths = getattr(package, "__path__", ())
    return sorted(found.name for found in pkgutil.iter_modules(paths, f"{package.__name__}."))
