"""How a partition is declared, and how a `--partition` is read by what was declared.

A partition is one function in a file of this folder (or of a plug-in) under `@scheme(...)`; nothing else has to be edited.
The declaration says how the arguments look, and the sentences about wrong ones follow from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fl_config.errors import ConfigError, closest
from fl_config.parts import same_plugin

Parts = Sequence[np.ndarray]  # one array of int64 indices per client
Columns = Mapping[str, np.ndarray]  # values of the training rows that are not features, by the column's name
LONGTAIL = "longtail:RHO,..."


@dataclass(frozen=True)
class Argument:
    """One number of a form such as `biased:B:U`."""

    name: str
    at_least: float | None = None  # None: any number above 0
    whole: bool = False

    def read(self, text: str, spec: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        fits = math.isfinite(value) and (value > 0 if self.at_least is None else value >= self.at_least)
        if not fits or (self.whole and value != int(value)):
            bound = "above 0" if self.at_least is None else f"of {self.at_least:g} or more"
            kind = "whole number" if self.whole else "number"
            raise ConfigError(f"--partition {spec!r}: {self.name} must be a {kind} {bound}, not {text!r}.")
        return value


@dataclass(frozen=True)
class Request:
    """Everything that a partition may depend on."""

    spec: str
    values: tuple[float, ...]  # the numbers of the spec
    text: str  # its argument as it was written
    indices: np.ndarray  # the samples that are divided, as numbers of the training set
    labels: np.ndarray  # int64, the class of each of them; all 0 where samples have no classes
    clients: int
    classes: int  # 0 where samples have no classes
    least: int  # fewest samples of a client
    seed: int
    generator: np.random.Generator
    columns: Columns = field(default_factory=dict)  # of the samples that are divided

    def shuffled_classes(self) -> list[np.ndarray]:
        """The places of each class's samples in `labels`, in random order."""
        return [self.generator.permutation(np.flatnonzero(self.labels == label)) for label in range(self.classes)]

    @property
    def what(self) -> str:
        """How a sentence about this partition begins."""
        return f"--partition {self.spec!r}"


Divide = Callable[[Request], Parts]  # to places in `labels`; without `repair` to sorted numbers of the training set
Names = Callable[[str, Columns, str], "tuple[str, ...] | None"]  # of an argument, the columns and the spec
Check = Callable[[str, str], None]  # of a text argument and the spec


@dataclass(frozen=True)
class Scheme:
    """A declared partition."""

    name: str
    form: str
    what: str
    divide: Divide
    arguments: tuple[Argument, ...]
    example: str
    repeats: bool
    check: Check | None
    by_class: bool
    repair: bool
    thinnable: bool
    plain_seed: bool
    names: Names | None


@dataclass(frozen=True)
class Parsed:
    """A `--partition` that has been read."""

    spec: str
    scheme: Scheme
    values: tuple[float, ...]
    text: str
    longtail: float | None


SCHEMES: dict[str, Scheme] = {}


def scheme(
    form: str,
    what: str,
    *arguments: Argument,
    example: str = "",
    repeats: bool = False,
    check: Check | None = None,
    by_class: bool = True,
    repair: bool = True,
    thinnable: bool = True,
    plain_seed: bool = False,
    names: Names | None = None,
) -> Callable[[Divide], Divide]:
    """Declare the partition `form`, whose name stands before the colon, as the function below.

    `repeats`: the one argument may be given several times, with commas. `check`: the argument is a text and this function
    raises where it is wrong. `by_class`: samples without classes are refused. `repair`: samples move from the largest
    clients to those below the minimum; a partition without it sees to its minimum itself. `thinnable`: `longtail:RHO,` may
    precede. `plain_seed`: the generator is NumPy's default_rng(seed), for partitions that others have published with it.
    `names`: the clients' names, where they have some.
    """

    def declare(divide: Divide) -> Divide:
        name = form.partition(":")[0]
        if name in SCHEMES and not same_plugin(SCHEMES[name].divide, divide):
            raise ConfigError(f"There are two partitions called {name!r}; give one of them another name.")
        SCHEMES[name] = Scheme(
            name, form, what, divide, arguments, example, repeats, check, by_class, repair, thinnable, plain_seed, names
        )
        return divide

    return declare


def forms(by_class: bool = True) -> list[str]:
    """The forms of all partitions, those without an argument first; without those that divide by class if so asked."""
    chosen = [known.form for known in SCHEMES.values() if by_class or not known.by_class]
    return sorted(chosen, key=lambda form: (":" in form, form))


def parse(spec: str) -> Parsed:
    """What a spec says, or a sentence about what is wrong with it."""
    longtail = None
    rest = spec.strip()
    if rest.startswith("longtail:"):
        ratio, comma, rest = rest.removeprefix("longtail:").partition(",")
        longtail = Argument("RHO", at_least=1.0).read(ratio, spec)
        if not comma or not rest:
            raise ConfigError(
                f"--partition {spec!r} thins the classes but does not divide them; add one, as in longtail:50,iid."
            )
    name, colon, text = rest.partition(":")
    if name not in SCHEMES:
        raise ConfigError(f"--partition {spec!r} is unknown; {_hint(name)}")
    known = SCHEMES[name]
    if bool(text) != (":" in known.form) or (colon and ":" not in known.form):
        raise ConfigError(f"--partition {spec!r} has another form than {known.form}.")
    if longtail is not None and not known.thinnable:
        raise ConfigError(
            f"--partition {spec!r}: longtail cannot precede a file, whose indices already choose the samples."
        )
    if known.check is not None:
        known.check(text, spec)
    return Parsed(spec, known, _values(known, text, spec), text, longtail)


def _hint(name: str) -> str:
    near = closest(name, [*SCHEMES, "longtail"])
    if near is None:
        return f"known are {', '.join([*forms(), LONGTAIL])}."
    return f"did you mean {SCHEMES[near].form if near in SCHEMES else LONGTAIL}?"


def _values(known: Scheme, text: str, spec: str) -> tuple[float, ...]:
    if known.repeats:
        return tuple(known.arguments[0].read(part, spec) for part in text.split(","))
    if len(known.arguments) < 2:
        return tuple(argument.read(text, spec) for argument in known.arguments)
    parts = text.split(":")
    if len(parts) != len(known.arguments):
        raise ConfigError(f"--partition {spec!r} has another form than {known.form}, as in {known.example}.")
    return tuple(argument.read(part, spec) for argument, part in zip(known.arguments, parts, strict=True))
