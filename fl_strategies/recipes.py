"""Named methods as data, and the expression that combines them: a base, then plug-ins joined by +.

A recipe is what the parts of an expression come to. The default weighting of a base gives way to one that is asked for; everything
else that two parts would both fill is an error. `feddisco` and `fedavg+disco` are the same recipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from fl_config.errors import ConfigError, nearest, sentences
from fl_config.params import Params
from fl_config.parts import Part
from fl_strategies.bases import BASES, check_names
from fl_strategies.meaning import check_meaning
from fl_strategies.parts import PARTS
from fl_strategies.topologies.base import Topology


def plugins() -> tuple[str, ...]:
    """Parts that may stand after a +."""
    return tuple(name for name, part in PARTS.items() if part.plugin)


@dataclass(frozen=True)
class Recipe:
    """The parts of a method in the order of `SLOTS`; `weighting` is always one of them."""

    name: str
    parts: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()  # parameters that the base fixes
    outgoing: str = "size"  # the base's own weighting, for rounds in which the weighting does not decide

    def of(self, slot: str) -> tuple[str, ...]:
        return tuple(name for name in self.parts if PARTS[name].slot == slot)

    def one(self, slot: str) -> str | None:
        return next(iter(self.of(slot)), None)

    def halves(self, kind: str) -> dict[str, Any]:
        """The classes of one kind among the parts, by part."""
        return {name: half for name in self.parts if (half := PARTS[name].half(kind)) is not None}

    def declared(self) -> list[Part]:
        return [PARTS[name] for name in self.parts]

    @property
    def weighting(self) -> str:
        name = self.one("weighting")
        assert name is not None
        return name

    @property
    def topologies(self) -> dict[str, type[Topology]]:
        """From the outside in; a recipe that names none shares one model."""
        named = self.halves(Topology.kind) or {"shared": PARTS["shared"].half(Topology.kind)}
        return dict(sorted(named.items(), key=lambda one: not one[1].several_models))

    def topology(self, params: Mapping[str, Params]) -> Topology:
        """Who gets and gives which arrays."""
        made: Topology | None = None
        for name, kind in reversed(self.topologies.items()):
            made = kind(params.get(name), made)
        assert made is not None
        return made

    @property
    def server_steps(self) -> tuple[str, ...]:
        """Parts with a step on the server, in the order in which they act."""
        order = ("normaliser", "server optimizer", "drift", "polish")
        return tuple(name for slot in order for name in self.of(slot))

    @property
    def objectives(self) -> tuple[str, ...]:
        """Losses first, the drift term last."""
        own = self.halves("objective")
        return tuple(name for name in (*self.of("objective"), *self.of("drift")) if name in own)

    @property
    def optimizer(self) -> str:
        return next(iter(self.halves("local optimizer")), "sgd")

    @property
    def projection(self) -> int:
        """Width of the projection head that an objective asks for; 0 is none."""
        return max((half.projection for half in self.halves("objective").values()), default=0)

    @property
    def personal(self) -> bool:
        return any(kind.personal for kind in self.topologies.values())

    @property
    def fine_tuning_epochs(self) -> int:
        return max(kind.fine_tuning_epochs for kind in self.topologies.values())


def parse(expression: str) -> Recipe:
    """`feddyn+disco+asd` -> the recipe; a sentence for everything that cannot be."""
    base_name, *added = check_names(expression, plugins())
    base = BASES[base_name]
    asked = [*base.parts, *added]
    twice = next((name for name in asked if asked.count(name) > 1), None)
    if twice:
        raise ConfigError(f"The strategy {expression!r} has {twice!r} twice; once is enough.")
    weighted = any(PARTS[name].slot == "weighting" for name in asked)
    parts = asked if weighted else [*asked, base.weighting]
    check_meaning(expression, [PARTS[name] for name in parts], added)
    ordered = tuple(sorted(parts, key=lambda name: PARTS[name].order))
    return Recipe(_canonical(ordered, base_name), ordered, base.settings, base.weighting)


def refusal(expression: str) -> str:
    """Why an expression has no meaning; empty where it has one."""
    try:
        parse(expression)
    except ConfigError as error:
        return str(error)
    return ""


def _canonical(parts: tuple[str, ...], given: str) -> str:
    """One name for one set of parts: the first base (in the table's order) that is in it, then what is left.

    A base that fixes parameters keeps its name, as its parts alone do not make it.
    """
    own = set(parts)
    fixed = {given: BASES[given]} if BASES[given].settings else {}
    for name, base in (fixed or dict(list(BASES.items())[1:])).items():
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
    for key, fixed in recipe.settings:
        part, _, field = key.partition(".")
        if (wanted := values[part].setdefault(field, fixed)) != fixed:
            raise ConfigError(
                f"The strategy {recipe.name!r} is the one with {key} = {fixed!r}, but {wanted!r} was given: leave it out, or choose "
                "another strategy."
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


def without_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that say something: a run config of Flower's has every key, and most hold what would be taken anyway."""
    plain = flat_parameters()
    return {key: value for key, value in given.items() if key not in plain or value != plain[key]}


def flat_parameters(parts: Mapping[str, Params] | None = None) -> dict[str, Any]:
    """Dotted keys and values of the given parameters, or the defaults of every part."""
    chosen: Iterable[tuple[str, Params]] = (
        parts.items() if parts is not None else ((n, p.params()) for n, p in PARTS.items())
    )
    return {f"{name}.{key}": value for name, params in chosen for key, value in params.model_dump().items()}


def paper_of(name: str) -> str:
    """The paper behind a base, an expression or a part, as its declaration names it."""
    if name in PARTS:
        return PARTS[name].paper
    base = BASES.get(name.partition("+")[0])
    return PARTS[base.parts[0] if base.parts else base.weighting].paper if base else ""
