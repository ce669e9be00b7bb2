"""Which recipes can do with the weighted sum of the updates: every part says so itself, and one that does not is refused by name.

A weighting says `known_before_training`, a server step what it needs beside the mean (`summed`), a topology that it is `summable`. What
only clients do (objectives, local optimisers) is never in the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from fl_config.errors import ConfigError
from fl_config.parts import Part
from fl_protocol.messages import FEWEST
from fl_strategies.recipes import Recipe
from fl_strategies.server_update.base import ServerStep
from fl_strategies.topologies.base import Topology
from fl_strategies.weighting.base import Weighting

START = "--secure-aggregation lets the server see the weighted sum of the updates only, but"


def check_summable(recipe: Recipe, score: Sequence[str] = (), max_update_norm: float = 0.0) -> None:
    """Raise a sentence for the first part or option that needs more than the sum."""
    for one in recipe.declared():
        if why := _needs_more(one):
            raise ConfigError(
                f"{START} {one.name!r} {why}: choose a strategy without it, such as fedavg, feddisco or fedadam."
            )
    if means := [name for name in score if name != "server"]:
        raise ConfigError(f"{START} --score {means[0]} needs the clients' models with equal weights: leave it out.")
    if max_update_norm:
        raise ConfigError(
            f"{START} --max-update-norm has it look at each of them: leave it out. A client that would send too large an update "
            "would not clip it either."
        )


def check_cohort(size: int) -> None:
    """Refuse rounds in which a sum would be one client's or two clients' own."""
    if size < FEWEST:
        raise ConfigError(
            f"--secure-aggregation sums over {FEWEST} or more clients, but {size} would take part in a round: raise --clients or "
            "--fraction."
        )


def _needs_more(one: Part) -> str:
    weighting, step, topology = (one.half(kind.kind) for kind in (Weighting, ServerStep, Topology))
    if weighting is not None and not weighting.known_before_training:
        return "weighs clients by what they learned, which must be known before they train"
    if step is not None and step.summed is None:
        return "needs every client's update by itself, or more than the update"
    if topology is not None and not topology.summable:
        return "has clients keep or send something else than one model for all"
    return ""
