"""Which recipes may be run with differential privacy: what else clients send, or what else is done with it, must not undo it."""

from __future__ import annotations

from collections.abc import Mapping

from fl_config.errors import ConfigError
from fl_config.params import Params
from fl_config.parts import Part
from fl_strategies.parts import PARTS
from fl_strategies.recipes import Recipe
from fl_strategies.server_update.base import ServerStep
from fl_strategies.topologies.base import Topology
from fl_strategies.weighting.base import Weighting


def check_local(recipe: Recipe, chosen: Mapping[str, Params]) -> None:
    """Local noise covers the model that a client sends; a recipe that has it send more would undo that."""
    beside = recipe.one("topology") or recipe.one("drift")
    weighting = PARTS[recipe.weighting].half("weighting")(chosen[recipe.weighting])
    if beside is None and (weighting.reports or weighting.round_sums):
        beside = recipe.weighting
    if beside is not None:
        raise ConfigError(
            f"--dp-clip covers one model that a client sends, but with {beside!r} clients keep or send more than that: "
            "choose a strategy without it, such as fedavg or feddisco."
        )


def check_central(recipe: Recipe, sampled: bool) -> None:
    """Noise on the weighted average covers what is made of it; a part that looks at single replies would not be covered."""
    if more := next((part.name for part in recipe.declared() if _needs_more(part)), None):
        raise ConfigError(
            f"--dp central protects the weighted average of the clients' updates, but {more!r} makes use of more than that: choose a "
            "strategy without it, such as fedavg, fedprox, fedadam or feddisco."
        )
    if sampled and not PARTS[recipe.weighting].says("equal"):
        raise ConfigError(
            f"--sampler poisson needs the same weight for every client, whoever else is drawn, but {recipe.weighting!r} weighs "
            f"clients against each other: take {recipe.name}+uniform, or --sampler fixed, which claims nothing for sampling."
        )


def _needs_more(part: Part) -> bool:
    """Whether it looks at more than the average; a number for which a sum would be enough has no noise either."""
    weighting, step, topology = (part.half(kind.kind) for kind in (Weighting, ServerStep, Topology))
    return bool(
        (weighting and not weighting.known_before_training)
        or (step and step.summed != ())
        or (topology and not topology.summable)
    )
