"""Named methods as data, and the expression that combines them: a base, then plug-ins joined by +.

A recipe is what the parts of an expression come to. The default weighting of a base gives way to one that is asked for; everything
else that two parts would both fill is an error. `feddisco` and `fedavg+disco` are the same recipe.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from fl_config.errors import ConfigError, nearest, sentences
from fl_config.params import Params
from fl_strategies.parts import PARTS, SLOTS, Part
from fl_strategies.topologies.base import Topology


@dataclass(frozen=True)
class Base:
    parts: tuple[str, ...]  # what makes it the method
    weighting: str = "size"  # what it weighs by unless a plug-in says otherwise
    title: str = ""


BASES: dict[str, Base] = {
    "fedavg": Base((), title="federated averaging"),
    "local": Base(("local",), title="every client alone, the lower bar"),
    "fedper": Base(("per",)),
    "fedbabu": Base(("babu",)),
    "scaffold": Base(("scaffold",), "uniform"),
    "feddyn": Base(("dyn",), "uniform"),
    "feddc": Base(("dc",), "uniform"),
    "fedssg": Base(("ssg",), "uniform"),
    "fedvra": Base(("vra",), "uniform"),
    "fedspeed": Base(("speed",), "uniform"),
    "fedprox": Base(("prox",)),
    "moon": Base(("moon",)),
    "fedntd": Base(("ntd",)),
    "feddecorr": Base(("decorr",)),
    "fedsam": Base(("sam",)),
    "fednova": Base(("nova",)),
    "fedavgm": Base(("avgm",)),
    "fedadam": Base(("adam",)),
    "fedyogi": Base(("yogi",)),
    "fedadagrad": Base(("adagrad",)),
    "fedexp": Base(("exp",)),
    "feddf": Base(("df",)),
    "asd": Base(("asd",), title="FedAvg with adaptive self-distillation"),
    "feddisco": Base(("disco",)),
    "fedssa": Base(("ssa",)),
    "afl": Base(("afl",)),
    "fedcuau": Base(("cuau",), title="clusters by the skew of their labels"),
}
PLUGINS = tuple(name for name, part in PARTS.items() if part.plugin)


@dataclass(frozen=True)
class Recipe:
    """The parts of a method in the order of `SLOTS`; `weighting` is always one of them."""

    name: str
    parts: tuple[str, ...]
    outgoing: str = "size"  # the base's own weighting, for rounds in which the weighting does not decide

    def of(self, slot: str) -> tuple[str, ...]:
        return tuple(name for name in self.parts if PARTS[name].slot == slot)

    def one(self, slot: str) -> str | None:
        return next(iter(self.of(slot)), None)

    @property
    def weighting(self) -> str:
        name = self.one("weighting")
        assert name is not None
        return name

    @property
    def topology(self) -> str | None:
        return self.one("topology")

    def topology_of(self, params: Mapping[str, Params]) -> Topology:
        """Who gets and gives which arrays."""
        clusters = self.one("clusters")
        kind = PARTS[clusters].topology if clusters else None
        return kind(self.topology, params[clusters]) if clusters and kind else Topology(self.topology)

    @property
    def server_steps(self) -> tuple[str, ...]:
        """Parts with a step on the server, in the order in which they act."""
        order = ("normaliser", "server optimiser", "drift", "polish")
        return tuple(name for slot in order for name in self.of(slot))

    @property
    def objectives(self) -> tuple[str, ...]:
        """Losses first, the drift term last."""
        return tuple(n for n in (*self.of("objective"), *self.of("drift")) if PARTS[n].objective)

    @property
    def optimizer(self) -> str:
        return next((name for name in self.parts if PARTS[name].optimizer), "sgd")

    @property
    def personal(self) -> bool:
        return any(PARTS[name].personal for name in self.parts)


@functools.cache
def parse(expression: str) -> Recipe:
    """`feddyn+disco+asd` -> the recipe; a sentence for everything that cannot be."""
    names = [word.strip().lower() for word in expression.split("+")]
    base_name, plugins = names[0], names[1:]
    if base_name not in BASES:
        raise ConfigError(
            f"There is no strategy {base_name!r}{nearest(base_name, BASES)} `fedloom strategies` lists them all."
        )
    base = BASES[base_name]
    for name in plugins:
        if name not in PLUGINS:
            raise ConfigError(
                f"There is no plug-in {name!r}{nearest(name, PLUGINS)} Plug-ins are {', '.join(PLUGINS)}."
            )
    asked = [*base.parts, *plugins]
    twice = next((name for name in asked if asked.count(name) > 1), None)
    if twice:
        raise ConfigError(f"The strategy {expression!r} has {twice!r} twice; once is enough.")
    weighted = any(PARTS[name].slot == "weighting" for name in asked)
    parts = asked if weighted else [*asked, base.weighting]
    for slot in SLOTS:
        rivals = [name for name in parts if PARTS[name].slot == slot]
        if slot != "objective" and len(rivals) > 1:
            raise ConfigError(
                f"The strategy {expression!r} has two parts for the {slot}, {rivals[0]!r} and {rivals[1]!r}; keep one."
            )
    _check_meaning(expression, parts, plugins)
    ordered = tuple(sorted(parts, key=lambda name: (SLOTS.index(PARTS[name].slot), list(PARTS).index(name))))
    return Recipe(_canonical(ordered), ordered, base.weighting)


def _check_meaning(expression: str, parts: list[str], plugins: list[str]) -> None:
    slots = {PARTS[name].slot: name for name in parts}
    topology, drift = slots.get("topology"), slots.get("drift")
    if topology == "local":
        useless = next(
            (n for n in plugins if PARTS[n].slot in ("weighting", "normaliser", "server optimiser", "polish")), None
        )
        if useless:
            raise ConfigError(
                f"The strategy {expression!r} has no meaning: under 'local' nothing is averaged, so {useless!r} has nothing to do."
            )
    if topology and drift:
        raise ConfigError(
            f"The strategy {expression!r} has no meaning: {drift!r} corrects the drift of one shared model, and under {topology!r} a part of the model is not shared."
        )
    optimizers = [name for name in parts if PARTS[name].optimizer]
    if len(optimizers) > 1:
        raise ConfigError(
            f"The strategy {expression!r} has two local optimisers, {optimizers[0]!r} and {optimizers[1]!r}; keep one."
        )
    if topology and slots.get("polish"):
        raise ConfigError(
            f"The strategy {expression!r} has no meaning: {slots['polish']!r} needs whole client models, and {topology!r} keeps a part of them private."
        )
    if clusters := slots.get("clusters"):
        _check_clusters(expression, clusters, slots, parts)
    weighting = PARTS[slots["weighting"]].weighting
    if topology and weighting is not None and weighting.needs_target:
        raise ConfigError(
            f"The strategy {expression!r} has no meaning: {slots['weighting']!r} needs whole client models, and {topology!r} keeps a part of them private."
        )


def _check_clusters(expression: str, clusters: str, slots: dict[str, str], parts: list[str]) -> None:
    """Clusters have several models a client: whatever keeps or needs exactly one whole model is out."""
    start = f"The strategy {expression!r} has no meaning:"
    if slots.get("topology") == "local":
        raise ConfigError(f"{start} under 'local' nothing is shared, so {clusters!r} has nothing to divide.")
    if kept := next((name for name in parts if PARTS[name].remembers), None):
        raise ConfigError(
            f"{start} {kept!r} remembers something of one model a client, and under {clusters!r} a client trains several."
        )
    if step := slots.get("normaliser") or slots.get("server optimiser"):
        raise ConfigError(
            f"{start} {step!r} moves one global model, and {clusters!r} has one head a cluster to average."
        )
    weighting = PARTS[slots["weighting"]].weighting
    whole = "polish" in slots or (weighting is not None and weighting.needs_target)
    if whole:
        name = slots.get("polish", slots["weighting"])
        raise ConfigError(
            f"{start} {name!r} needs whole client models, and {clusters!r} has clients train parts of several."
        )


def _canonical(parts: tuple[str, ...]) -> str:
    """One name for one set of parts: the first base (in the table's order) that is in it, then what is left."""
    own = set(parts)
    for name, base in list(BASES.items())[1:]:
        if set(base.parts) <= own:
            rest = [p for p in parts if p not in base.parts and p != base.weighting]
            return "+".join([name, *rest])
    return "+".join(["fedavg", *(p for p in parts if p != "size")])


def prefix_of(name: str) -> str | None:
    """The part that a parameter prefix means: its own name, or the name of the base that it makes (`fedssg` is `ssg`)."""
    if name in PARTS:
        return name
    own = BASES[name].parts if name in BASES else ()
    return own[0] if own else None


def parameters(recipe: Recipe, given: Mapping[str, Any]) -> dict[str, Params]:
    """The parameters of every part of the recipe, from dotted keys.

    A key of a part that the recipe does not use is an error, unless it holds the default (Flower's run config always has every key).
    """
    values: dict[str, dict[str, Any]] = {name: {} for name in recipe.parts}
    for key, value in given.items():
        prefix, _, field = key.partition(".")
        part = prefix_of(prefix)
        if part is None:
            raise ConfigError(
                f"There is no part {prefix!r} for the parameter {key!r}{nearest(prefix, [*PARTS, *BASES])}"
            )
        fields = PARTS[part].params.model_fields
        if field not in fields:
            own = f"Its parameters are {', '.join(fields)}." if fields else "It has none."
            raise ConfigError(f"The part {part!r} has no parameter {field!r}{nearest(field, fields)} {own}")
        if part in values:
            values[part][field] = value
        elif value != fields[field].get_default(call_default_factory=True):
            raise ConfigError(
                f"The parameter {key!r} belongs to {part!r}, which the strategy {recipe.name!r} does not use."
            )
    built: dict[str, Params] = {}
    problems: list[str] = []
    for part, fields in values.items():
        try:
            built[part] = PARTS[part].params(**fields)
        except ValidationError as error:
            problems.append(sentences(error, f"Parameter of {part!r},"))
    if problems:
        raise ConfigError("\n".join(problems))
    return built


def flat_parameters(parts: Mapping[str, Params] | None = None) -> dict[str, Any]:
    """Dotted keys and values of the given parameters, or the defaults of every part."""
    chosen: Iterable[tuple[str, Params]] = (
        parts.items() if parts is not None else ((n, p.params()) for n, p in PARTS.items())
    )
    return {f"{name}.{key}": value for name, params in chosen for key, value in params.model_dump().items()}


def paper_of(name: str) -> str:
    """The paper behind a base or a part."""
    part: Part | None = PARTS.get(name) or (
        PARTS[BASES[name].parts[0]] if name in BASES and BASES[name].parts else None
    )
    return (part.paper if part else "") or ("McMahan et al., AISTATS 2017" if name == "fedavg" else "")
