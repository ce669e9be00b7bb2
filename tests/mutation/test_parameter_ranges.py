"""The ranges of part parameters, written down a second time: what is on the border is taken, what is beyond it is refused by name."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_runs.plan import make_plan
from fl_strategies.strategy import ComposedStrategy

FROM_0, ABOVE_0, SHARE, BELOW_1 = (
    ([0.0, 50.0], [-1e-6]),
    ([1e-9, 50.0], [0.0]),
    ([0.0, 1.0], [-1e-6, 1.001]),
    ([0.0, 0.999], [-1e-6, 1.0]),
)
COUNT_0, COUNT_1 = ([0, 9], [-1]), ([1, 9], [0])
RANGES = {
    "asd": {"lam": FROM_0, "tau": ABOVE_0, "entropy_temp": ABOVE_0, "b1": FROM_0, "b2": FROM_0},
    "feddc": {"alpha": FROM_0},
    "feddecorr": {"lam": FROM_0},
    "feddyn": {"alpha": FROM_0},
    "moon": {"mu": FROM_0, "tau": ABOVE_0},
    "fedntd": {"beta": FROM_0, "tau": ABOVE_0},
    "fedprox": {"mu": FROM_0},
    "fedssg": {"alpha": FROM_0, "eps": ABOVE_0},
    "fedvra": {"gamma": FROM_0, "a": FROM_0, "d": ABOVE_0},
    "fedsam": {"rho": FROM_0},
    "fedspeed": {"rho": FROM_0, "a": SHARE, "lam": ABOVE_0},
    "fedcuau": {"clusters": ([2, 5], [1])},
    "fedadagrad": {"lr": ABOVE_0, "beta1": BELOW_1, "tau": ABOVE_0},
    "fedadam": {"lr": ABOVE_0, "beta1": BELOW_1, "beta2": BELOW_1, "tau": ABOVE_0},
    "fedyogi": {"lr": ABOVE_0, "beta1": BELOW_1, "beta2": BELOW_1, "tau": ABOVE_0},
    "fedavgm": {"lr": ABOVE_0, "beta": BELOW_1, "dampening": BELOW_1},
    "fedexp": {"eps": FROM_0, "momentum": BELOW_1},
    "feddf": {"steps": COUNT_0, "lr": ABOVE_0, "tau": ABOVE_0, "clip": FROM_0, "batch_size": COUNT_1},
    "afl": {"lr": FROM_0},
    "feddisco": {"a": FROM_0},
    "fedavg+confidence": {"n_view_banks": COUNT_1, "max_samples": COUNT_0},
    "fedavg+similarity": {"n_view_banks": COUNT_1, "max_samples": COUNT_0},
    "fedssa": {
        "warmup_rounds": COUNT_0, "average": BELOW_1, "lambda_var": FROM_0, "lambda_we": FROM_0, "lr": ABOVE_0, "momentum": BELOW_1,
        "weight_decay": FROM_0, "epochs": COUNT_1, "batch": COUNT_0, "n_view_banks": COUNT_0, "steps_min": COUNT_0, "max_samples": COUNT_0,
    },
}  # fmt: skip
CASES = [(strategy, name, *values) for strategy, names in RANGES.items() for name, values in names.items()]


@pytest.mark.parametrize(("strategy", "name", "good", "bad"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_borders(strategy: str, name: str, good: list[float], bad: list[float]) -> None:
    part = strategy.split("+")[-1].removeprefix("fed")
    for value in good:
        assert getattr(make_plan({"strategy": strategy, f"{part}.{name}": value}).parameters[part], name) == value
    for value in bad:
        with pytest.raises(ConfigError, match=f"'{part}', '{name}'"):
            make_plan({"strategy": strategy, f"{part}.{name}": value})


FINITE = {
    "asd": ("lam", "tau", "entropy_temp", "b1", "b2"),
    "moon": ("mu", "tau"),
    "fedntd": ("beta", "tau"),
    "feddecorr": ("lam",),
    "fedprox": ("mu",),
    "fedadagrad": ("lr", "tau"),
    "fedadam": ("lr", "tau"),
    "fedavgm": ("lr",),
    "fedexp": ("eps",),
}


@pytest.mark.parametrize(
    ("strategy", "name"), [(strategy, name) for strategy, names in FINITE.items() for name in names]
)
def test_infinity_is_no_parameter_in_python_either(strategy: str, name: str) -> None:
    """Options refuse it before any part sees it; a Flower app hands its numbers straight to the strategy."""
    part = strategy.removeprefix("fed")
    for value in (float("inf"), float("nan")):
        with pytest.raises(ConfigError, match=f"'{part}', '{name}'"):
            ComposedStrategy(strategy, parts={f"{part}.{name}": value})


def test_nesterov_and_dampening_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="nesterov momentum needs dampening 0"):
        make_plan({"strategy": "fedavgm", "avgm.nesterov": True, "avgm.dampening": 0.5})
