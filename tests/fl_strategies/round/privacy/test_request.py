"""From options to a protection: what each kind takes, and one sentence for everything that has no meaning."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from fl_config.errors import ConfigError
from fl_config.options import options
from fl_runs.plan import make_plan
from fl_strategies.round.privacy.accountant import epsilon
from fl_strategies.round.privacy.central import Central
from fl_strategies.round.privacy.local_cost import Local, local_noise
from fl_strategies.round.privacy.protection import Protection
from fl_strategies.round.privacy.request import kind_of, protection_of, warn_of_delta
from simulation import run

CENTRAL: dict[str, Any] = {"dp": "central", "dp-clip": 1.0}
DIGITS: dict[str, Any] = {"dataset": "digits", "model": "linear", "engine": "inline", "device": "cpu"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"dp": "none", "dp-clip": 1.0}, "--dp none and --dp-clip 1 contradict"),
        ({"dp": "central", "dp-noise": 1.0}, "--dp central needs --dp-clip"),
        ({"dp": "local"}, "--dp local needs --dp-clip"),
        ({"dp-epsilon": 2.0}, "--dp-epsilon has no effect"),
        ({"dp-delta": 1e-6}, "--dp-delta has no effect"),
        ({"dp-budget": 2.0}, "--dp-budget has no effect"),
        ({"dp-noise": 2.0, "dp": "none"}, "--dp-noise has no effect"),
        ({"dp-clip": 1.0, "dp-noise": 2.0}, "--dp-noise belongs to --dp central"),
        ({**CENTRAL, "dp-epsilon": 2.0, "dp-noise": 1.0}, "--dp-epsilon belongs to --dp local"),
        (CENTRAL, "how much noise"),
        ({**CENTRAL, "dp-noise": 0.3, "dp-budget": 1.0}, "One round costs epsilon = .* more than --dp-budget 1: .*--dp-noise"),
        ({"dp-clip": 1.0, "dp-epsilon": 4.0, "dp-budget": 1.0}, "One round costs epsilon = 3.511 .*--dp-epsilon"),
        ({**CENTRAL, "dp-noise": 1.0, "score": "server,cohort"}, "--score cohort is of a mean"),
        ({**CENTRAL, "dp-noise": 1.0, "strategy": "scaffold"}, "'scaffold' makes use of more"),
        ({"sampler": "poisson", "fraction": 0.5}, "--sampler poisson is the secret sampling"),
        ({**CENTRAL, "dp-noise": 1.0, "sampler": "poisson", "strategy": "fedavg+uniform"}, "draws everybody"),
        ({**CENTRAL, "dp-noise": 1.0, "sampler": "poisson", "fraction": 0.5}, "same weight for every client.*'size'"),
        (
            {**CENTRAL, "dp-noise": 1.0, "sampler": "poisson", "fraction": 0.5, "strategy": "fedavg+uniform", "over-sample": 0.5},
            "--over-sample contradict",
        ),
        (
            {**CENTRAL, "dp-noise": 1.0, "sampler": "poisson", "fraction": 0.5, "strategy": "fedavg+uniform", "min-replies": 2},
            "--min-replies contradict",
        ),
        (
            {**CENTRAL, "dp-noise": 1.0, "sampler": "poisson", "fraction": 0.5, "strategy": "fedavg+uniform", "secure-aggregation": True},
            "--secure-aggregation contradict",
        ),
        ({"dp-clip": 1.0, "secure-aggregation": True}, "--dp local has a client noise.*take --dp central"),
        ({**CENTRAL, "dp-budget": 1e-7, "dp-delta": 1e-12}, "No noise is large enough"),
    ],
)  # fmt: skip
def test_mixtures_without_a_meaning_are_sentences(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make_plan({**DIGITS, **given})


def test_what_each_kind_comes_to(tmp_path: Path) -> None:
    assert kind_of(options({})) == "none" and type(protection_of(options({}))) is Protection
    local = protection_of(options({"dp-clip": 0.5, "dp-epsilon": 3.0, "dp-budget": 9.0}), folder=tmp_path)
    assert isinstance(local, Local) and local.journal, "local noise is never of the seed"
    assert (local.noise, local.budget, local.rate) == (local_noise(3.0, 1e-5), 9.0, 1.0)
    central = options({**CENTRAL, "dp-noise": 1.1, "dp-delta": 1e-6, "seed": 4})
    simulated = protection_of(central, seeded=True, folder=tmp_path)
    deployed = protection_of(central, seeded=False, folder=tmp_path)
    assert isinstance(simulated, Central) and isinstance(deployed, Central)
    assert (simulated.noise, simulated.delta, simulated.clip, simulated.seed) == (1.1, 1e-6, 1.0, 4)
    assert simulated.journal is None and deployed.journal and deployed.seed is None


def test_the_noise_follows_from_a_budget_and_the_rounds() -> None:
    sampled = {"sampler": "poisson", "fraction": 0.2, "strategy": "fedavg+uniform"}
    for more, rate in (({}, 1.0), (sampled, 0.2)):
        made = protection_of(options({**CENTRAL, "dp-budget": 6.0, "rounds": 20, **more}))
        assert isinstance(made, Central) and made.rate == rate and made.fitted == 20
        assert 5.99 < epsilon(made.noise, rate, 20, 1e-5) <= 6.0


def test_models_with_running_statistics_are_refused(tmp_path: Path) -> None:
    for given in ({**CENTRAL, "dp-noise": 1.0}, {"dp-clip": 1.0}):
        with pytest.raises(ConfigError, match="batch normalisation"):
            run({**DIGITS, "model": "resnet20:bn", "clients": 2, **given, "out": str(tmp_path / "a")})
        assert not (tmp_path / "a").exists()


def test_a_delta_that_promises_little_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "fedloom"):
        warn_of_delta(options({**CENTRAL, "dp-noise": 1.0, "dp-delta": 1e-3, "clients": 999}))
        assert not caplog.records
        warn_of_delta(options({**CENTRAL, "dp-noise": 1.0, "dp-delta": 1e-3, "clients": 1000}))
    assert "1 / 1000 clients" in caplog.text
