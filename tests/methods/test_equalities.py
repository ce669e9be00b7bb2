"""Degenerate settings must give another method's model, through the whole stack: command's options, client, loop, server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulation import run

# 1,442 samples in 7 equal shares; clip and decay are on so that their order matters too.
EQUAL = {
    "dataset": "digits",
    "model": "mlp:16",
    "partition": "iid",
    "clients": 7,
    "fraction": 0.6,
    "rounds": 4,
    "batch_size": 64,
    "lr": 0.1,
    "lr_decay": 0.9,
    "weight_decay": 1e-3,
    "clip": 10.0,
    "seed": 5,
    "engine": "inline",
    "eval_every": 4,
}
SKEWED = {**EQUAL, "partition": "dirichlet:0.3"}


def model(folder: Path, strategy: str, base: dict[str, Any] = EQUAL, **parts: Any) -> np.ndarray:
    result = run(
        {
            **base,
            "strategy": strategy,
            "out": str(folder / f"{strategy}-{len(list(folder.iterdir()))}"),
            **{key.replace("__", "."): value for key, value in parts.items()},
        }
    )
    return np.concatenate([value.ravel() for value in result.model.values()])


def test_one_setting_of_each_method_is_another_method(tmp_path: Path) -> None:
    fedavg, skewed = model(tmp_path, "fedavg"), model(tmp_path, "fedavg", SKEWED)
    feddyn = model(tmp_path, "feddyn", dyn__alpha=0.1)
    pairs = {
        "fedprox, mu 0": (model(tmp_path, "fedprox", SKEWED, prox__mu=0.0), skewed, 0),
        "fedsam, rho 0": (model(tmp_path, "fedsam", SKEWED, sam__rho=0.0), skewed, 0),
        "asd, lambda 0": (model(tmp_path, "asd", SKEWED, asd__lam=0.0), skewed, 0),
        "fedntd, beta 0": (model(tmp_path, "fedntd", SKEWED, ntd__beta=0.0), skewed, 0),
        "feddecorr, lambda 0": (model(tmp_path, "feddecorr", SKEWED, decorr__lam=0.0), skewed, 0),
        "fedavgm, beta 0": (model(tmp_path, "fedavgm", SKEWED, avgm__beta=0.0), skewed, 1e-6),
        "uniform weights, equal sizes": (model(tmp_path, "fedavg+uniform"), fedavg, 1e-6),
        "feddisco, a 0, equal sizes": (model(tmp_path, "feddisco", disco__a=0.0), fedavg, 1e-6),
        "fednova, equal steps": (model(tmp_path, "fednova"), fedavg, 1e-6),
        "afl, rate 0": (model(tmp_path, "afl", afl__lr=1e-12), fedavg, 1e-5),
        "fedspeed, rho 0, lam = alpha": (model(tmp_path, "fedspeed", speed__rho=0.0, speed__lam=0.1), feddyn, 0),
        "fedvra, a 1, d = gamma": (model(tmp_path, "fedvra", vra__a=1.0, vra__d=0.1, vra__gamma=0.1), feddyn, 1e-5),
        "prox_in_wd without an active clip": (
            model(tmp_path, "feddyn", dyn__alpha=0.1, dyn__prox_in_wd=False),
            feddyn,
            1e-5,
        ),
        "fedssg with its gate at 1 and the prox penalty": (
            model(tmp_path, "fedssg", SKEWED, ssg__gate="one", ssg__penalty="prox", ssg__alpha=0.02),
            model(tmp_path, "feddc", SKEWED, dc__alpha=0.02),
            0,
        ),
    }
    for what, (one, other, tolerance) in pairs.items():
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance, err_msg=what)


@pytest.mark.parametrize(
    ("strategy", "parts"),
    [
        ("fedprox", {"prox.mu": 1.0}),
        ("asd", {}),
        ("fedntd", {}),
        ("feddecorr", {}),
        ("fedsam", {}),
        ("moon", {}),
        ("feddisco", {}),
        ("feddyn", {}),
        ("scaffold", {}),
        ("fedssg", {"ssg.variant": "main"}),
        ("fedssg", {"ssg.variant": "appendix"}),
        ("fedexp", {}),
    ],
)
def test_and_with_their_own_settings_they_are_not_fedavg(strategy: str, parts: dict[str, Any], tmp_path: Path) -> None:
    plain = run({**SKEWED, "model": "mlp:16", "strategy": "fedavg", "out": str(tmp_path / "a")})
    other = run({**SKEWED, "strategy": strategy, "out": str(tmp_path / "b"), **parts})
    if strategy == "moon":  # a projection head makes it another model
        assert set(other.model) != set(plain.model)
        return
    assert max(float(np.abs(plain.model[name] - other.model[name]).max()) for name in plain.model) > 1e-4
