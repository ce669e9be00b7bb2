"""How a strategy goes about its rounds, in sections; every field may also be given to a strategy's class by name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fl_config.errors import ConfigError, nearest
from fl_strategies.population.census import Census
from fl_strategies.population.means import LastModels
from fl_strategies.round.privacy.protection import Protection
from fl_strategies.round.records import Observer
from fl_strategies.round.state import RunState

Save = Callable[[RunState, bool], bool]  # the flag: this is the last round


@dataclass(frozen=True)
class Participation:
    """Who takes part, and how long the server waits for them."""

    fraction_train: float = 1.0  # share of the clients in a round
    sampler: str = "fixed"  # or "bernoulli", "poisson"
    over_sample: float = 0.0  # share of clients asked beyond the cohort; the first replies win
    min_clients: int = 1  # how many to wait for before round 1, for at most `wait` seconds
    min_replies: int = 1  # fewest usable replies that a round needs; with fewer the model stays as it is
    max_update_norm: float = 0.0  # a client's update of a larger norm is scaled down to it; 0 is no limit
    secure_aggregation: bool = False  # sum updates under masks, so that the server sees the sum only
    secure_threshold: float = 0.66  # share of the cohort without which there is no sum
    round_timeout: float = 3600.0
    wait: float = 60.0
    expects: Mapping[str, Any] = field(default_factory=dict)  # what clients must say of themselves, such as num_classes
    census: Census | None = None  # what a simulation knows of its clients; without it each is asked

    def __post_init__(self) -> None:
        if not 0 < self.fraction_train <= 1:
            raise ConfigError(f"fraction_train is a share above 0 and up to 1, but {self.fraction_train} was given.")
        if not 0.5 < self.secure_threshold <= 1:
            raise ConfigError(
                f"secure_threshold is a share above 0.5 and up to 1, but {self.secure_threshold} was given: with half of the "
                "clients or fewer, the server could have the two halves reveal what must not come together."
            )


@dataclass(frozen=True)
class Schedule:
    """What happens when."""

    seed: int = 0
    lr_decay: float = 1.0  # the clients' learning rate is multiplied by this after each round
    eval_every: int = 1
    personal_epochs: int = 0  # of fine-tuning before clients are scored; above 0 they are scored with every strategy
    held_out: float = 0.0  # share of a client's training data that is kept for scoring
    metrics: tuple[str, ...] = ()  # what clients are scored by; none means what their task usually shows
    headline: str = "accuracy"  # the metric whose spread over clients is recorded
    better: str = "more"  # or "less", where a smaller headline metric is the better one
    score: tuple[str, ...] = ()  # models that are scored beside the global one: "cohort", "population"
    num_rounds: int = 0  # planned rounds; `start` knows them, one of Flower's wrappers around the strategy does not say


@dataclass
class Hooks:
    """Who is told about a run, and who can stop and save it."""

    observers: Sequence[Observer] = ()
    save: Save | None = None  # called after rounds with everything needed to go on; says whether it wrote it
    state: RunState | None = None  # such a state to go on from
    stop: threading.Event = field(default_factory=threading.Event)
    last_models: LastModels | None = None  # where clients' last models are kept, for the score "population"
    protection: Protection = field(
        default_factory=Protection
    )  # differential privacy, if any; its budget may end the run


SECTIONS: dict[str, type[Any]] = {"participation": Participation, "schedule": Schedule, "hooks": Hooks}
KEYWORDS: dict[str, Any] = {
    **{"parts": None, "local": None, "resources": None},
    **dict.fromkeys(SECTIONS),
    **{one.name: one.default for section in SECTIONS.values() for one in fields(section)},
}


def sections_of(given: dict[str, Any]) -> dict[str, Any]:
    """The sections, each as given or made of the fields that were given by name."""
    left, made = dict(given), {}
    for name, kind in SECTIONS.items():
        section = left.pop(name, None) or kind()
        own = {one.name: left.pop(one.name) for one in fields(kind) if one.name in left}
        made[name] = replace(section, **own) if own else section
    if left:
        odd = next(iter(left))
        raise ConfigError(f"A strategy has no argument {odd!r}{nearest(odd, KEYWORDS)}")
    return made
