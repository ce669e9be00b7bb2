"""Which parts have a meaning together: two for one slot, or a pair that contradicts itself, is an error that names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fl_config.errors import ConfigError
from fl_config.parts import SLOTS, Part
from fl_strategies.topologies.base import Topology

# What parts may need of a task or of a model, in words.
NEEDS = {"classes": "classes", "head": "a last fully connected layer"}
ON_AVERAGES = ("weighting", "normaliser", "server optimizer", "polish")


def check_meaning(expression: str, parts: Sequence[Part], plugins: Sequence[str]) -> None:
    """Raise a sentence if the parts of an expression cannot be one method."""
    _check_slots(expression, parts)
    slots = {part.slot: part for part in parts}
    start = f"The strategy {expression!r} has no meaning:"
    inner = next((part for part in parts if _topology(part) and not _topology(part).several_models), None)
    outer = next((part for part in parts if _topology(part) and _topology(part).several_models), None)
    if inner is not None and _topology(inner).shares_nothing:
        useless = next((part.name for part in parts if part.name in plugins and part.slot in ON_AVERAGES), None)
        if useless:
            raise ConfigError(f"{start} under {inner.name!r} nothing is averaged, so {useless!r} has nothing to do.")
    private = inner if inner is not None and _topology(inner).private else None
    drift, polish = slots.get("drift"), slots.get("polish")
    if private and drift:
        raise ConfigError(
            f"{start} {drift.name!r} corrects the drift of one shared model, and under {private.name!r} a part of the model is "
            "not shared."
        )
    optimizers = [part.name for part in parts if part.half("local optimizer")]
    if len(optimizers) > 1:
        raise ConfigError(
            f"The strategy {expression!r} has two local optimisers, {optimizers[0]!r} and {optimizers[1]!r}; keep one."
        )
    whole = f"{private.name!r} keeps a part of them private" if private else ""
    if private and polish:
        raise ConfigError(f"{start} {polish.name!r} needs whole client models, and {whole}.")
    if outer:
        _check_several_models(start, outer, inner, slots, parts)
    if private and slots["weighting"].says("needs_target"):
        raise ConfigError(f"{start} {slots['weighting'].name!r} needs whole client models, and {whole}.")


def check_needs(expression: str, parts: Sequence[Part], need: str, who: str) -> None:
    """Refuse parts that need what a task or a model does not have."""
    for part in parts:
        if any(need in half.needs for half in part.halves.values()):  # type: ignore[attr-defined]
            raise ConfigError(
                f"The strategy {expression!r} has {part.name!r}, which needs {NEEDS[need]}, and {who} has none: choose a strategy "
                f"without {part.name!r}."
            )


def _check_slots(expression: str, parts: Sequence[Part]) -> None:
    for slot in SLOTS:
        rivals = [part for part in parts if part.slot == slot]
        if slot == "topology":  # one that gives clients several models may stand around another
            for around in (True, False):
                _refuse_rivals(expression, slot, [part for part in rivals if _topology(part).several_models is around])
        elif slot != "objective":
            _refuse_rivals(expression, slot, rivals)


def _refuse_rivals(expression: str, slot: str, rivals: Sequence[Part]) -> None:
    if len(rivals) > 1:
        raise ConfigError(
            f"The strategy {expression!r} has two parts for the {slot}, {rivals[0].name!r} and {rivals[1].name!r}; keep one."
        )


def _check_several_models(
    start: str, outer: Part, inner: Part | None, slots: dict[str, Part], parts: Sequence[Part]
) -> None:
    """Whatever keeps or needs exactly one whole model per client is out."""
    if inner is not None and _topology(inner).shares_nothing:
        raise ConfigError(f"{start} under {inner.name!r} nothing is shared, so {outer.name!r} has nothing to divide.")
    if kept := next((part.name for part in parts if part.says("remembers")), None):
        raise ConfigError(
            f"{start} {kept!r} remembers something of one model per client, and under {outer.name!r} a client trains several."
        )
    if step := slots.get("normaliser") or slots.get("server optimizer"):
        raise ConfigError(
            f"{start} {step.name!r} moves one global model, and {outer.name!r} has one head per cluster to average."
        )
    learner = slots.get("polish") or (slots["weighting"] if slots["weighting"].says("needs_target") else None)
    if learner:
        raise ConfigError(
            f"{start} {learner.name!r} needs whole client models, and {outer.name!r} has clients train parts of several."
        )


def _topology(part: Part) -> Any:
    return part.half(Topology.kind)
