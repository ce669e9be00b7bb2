"""What a run's options ask of differential privacy: which kind, whether that has a meaning, and the protection that comes of it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord

from fl_config.errors import ConfigError
from fl_config.options import FLAGS, Options
from fl_config.params import Params
from fl_strategies.recipes import Recipe
from fl_strategies.round.privacy.accountant import epsilon, noise_for
from fl_strategies.round.privacy.central import Central
from fl_strategies.round.privacy.covered import check_central, check_local
from fl_strategies.round.privacy.local_cost import Local, local_noise
from fl_strategies.round.privacy.protection import Protection
from fl_strategies.round.privacy.spending import Journal

log = logging.getLogger("fedloom")
NONE, LOCAL, CENTRAL = "none", "local", "central"
POISSON = "poisson"
JOURNAL = "privacy.jsonl"  # of the run folder


def kind_of(config: Options) -> str:
    """none, local or central; a run that only says how far to clip means local."""
    if config.dp == "auto":
        return LOCAL if config.dp_clip else NONE
    return config.dp


def check_request(config: Options, recipe: Recipe, chosen: Mapping[str, Params]) -> None:
    """Refuse options that contradict each other, and recipes that would undo the protection."""
    kind = kind_of(config)
    if config.sampler == POISSON and kind != CENTRAL:
        raise ConfigError(
            "--sampler poisson is the secret sampling of --dp central; without that take --sampler bernoulli, which "
            "draws each client with the same probability."
        )
    if kind == NONE:
        _check_nothing_given(config)
        return
    if not config.dp_clip:
        raise ConfigError(
            f"--dp {kind} needs --dp-clip, the largest norm that a client's update may have, e.g. --dp-clip 1."
        )
    if kind == LOCAL:
        check_local(recipe, chosen)
        if config.dp_noise:
            raise _of_the_other_kind("--dp-noise", CENTRAL, LOCAL, "--dp-epsilon, the cost of one reply")
    else:
        _check_central(config, recipe)
    _check_budget(config)


def _check_nothing_given(config: Options) -> None:
    if config.dp == NONE and config.dp_clip:
        raise ConfigError(f"--dp none and --dp-clip {config.dp_clip:g} contradict each other: leave one of them out.")
    for name in ("dp-epsilon", "dp-delta", "dp-noise", "dp-budget"):
        if _given(config, name):
            raise ConfigError(
                f"--{name} has no effect without differential privacy: give --dp local or --dp central, with --dp-clip, or leave it out."
            )


def _check_central(config: Options, recipe: Recipe) -> None:
    sampled = config.sampler == POISSON
    check_central(recipe, sampled)
    if _given(config, "dp-epsilon"):
        raise _of_the_other_kind("--dp-epsilon", LOCAL, CENTRAL, "--dp-noise, or --dp-budget for the whole run")
    if not config.dp_noise and not config.dp_budget:
        raise ConfigError(
            "--dp central needs to know how much noise: give the multiplier, e.g. --dp-noise 1, or a budget for the whole "
            "run, e.g. --dp-budget 8, which the noise is computed from."
        )
    if means := [name for name in config.score.split(",") if name.strip() not in ("", "server")]:
        raise ConfigError(
            f"--score {means[0].strip()} is of a mean of client models without noise, which --dp central does not cover: leave it out."
        )
    for name in ("over-sample", "min-replies"):
        if sampled and _given(config, name):
            raise ConfigError(
                f"--sampler poisson and --{name} contradict each other: whether a client counts in a round must depend on "
                "chance alone, or sampling gains nothing."
            )
    if sampled and config.secure_aggregation:
        raise ConfigError(
            "--sampler poisson and --secure-aggregation contradict each other: the server, from whom the updates are hidden, knows who "
            "takes part, so that sampling gains nothing; take --sampler fixed."
        )
    if sampled and config.fraction >= 1.0:
        raise ConfigError(
            "--sampler poisson with --fraction 1 draws everybody, so that there is nothing to gain: leave it out, or give a fraction."
        )


def _check_budget(config: Options) -> None:
    made = protection_of(config)
    assert isinstance(made, Central | Local)
    one = epsilon(made.noise, made.rate, 1, made.delta)
    if config.dp_budget and one > config.dp_budget:
        how = "--dp-noise" if isinstance(made, Central) else "--dp-epsilon"
        raise ConfigError(
            f"One round costs epsilon = {one:.4g} at delta = {made.delta:g}, which is more than --dp-budget {config.dp_budget:g}: "
            f"change {how} to more noise, or raise the budget."
        )


def protection_of(config: Options, *, seeded: bool = True, folder: Path | None = None) -> Protection:
    """The protection that the options ask for. `seeded` noise is a simulation's; other noise is journalled in the run's `folder`."""
    kind = kind_of(config)
    if kind == NONE:
        return Protection()
    delta, budget = config.dp_delta, config.dp_budget
    journal = None if folder is None or (seeded and kind == CENTRAL) else Journal(folder / JOURNAL)
    if kind == LOCAL:
        return Local(local_noise(config.dp_epsilon, delta), delta, budget, journal=journal)
    rate = config.fraction if config.sampler == POISSON else 1.0
    noise = config.dp_noise or noise_for(budget, delta, rate, config.rounds)
    seed = config.seed if seeded else None
    fitted = 0 if config.dp_noise else config.rounds
    return Central(noise, delta, budget, rate, journal, config.dp_clip, seed, fitted)


def check_arrays(config: Options, arrays: ArrayRecord, model: str, trained: Collection[str]) -> None:
    """Refuse models that have what the protection cannot cover; `trained` are the names of the parameters."""
    kind = kind_of(config)
    if kind == LOCAL and any(value.dtype != "float32" for value in arrays.values()):
        raise ConfigError(
            f"--dp-clip adds noise to every array of the model, but {model} counts batches in one: choose a model "
            "without batch normalisation."
        )
    if kind == CENTRAL and (beside := next((name for name in arrays if name not in trained), None)):
        raise ConfigError(
            f"--dp central protects the parameters that are trained, but {model} has {beside!r} beside them, which clients would "
            "average in the clear: choose a model without batch normalisation."
        )


def warn_of_delta(config: Options) -> None:
    """A delta that is not far below one in so many clients allows to give one of them away."""
    if kind_of(config) != NONE and config.dp_delta * config.clients >= 1.0:
        log.warning(
            "--dp-delta %g is not below 1 / %d clients: a mechanism that gives one client away would satisfy it; take a smaller one.",
            config.dp_delta,
            config.clients,
        )


def _given(config: Options, name: str) -> bool:
    value: Any = getattr(config, name.replace("-", "_"))
    return bool(value != FLAGS[name].default)


def _of_the_other_kind(flag: str, right: str, wrong: str, instead: str) -> ConfigError:
    return ConfigError(f"{flag} belongs to --dp {right}; --dp {wrong} takes {instead}.")
