"""The whole matrix: every base with each of three weightings, with and without ASD, two rounds on real data each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fl_strategies.recipes import BASES, parse, refusal
from simulation import run

SMALL = {
    "dataset": "digits",
    "model": "mlp:16",
    "clients": 3,
    "rounds": 2,
    "batch_size": 64,
    "lr": 0.05,
    "clip": 10.0,
    "engine": "inline",
    "eval_every": 2,
}
QUICK = {"ssa": {"ssa.epochs": 2, "ssa.n_view_banks": 1, "ssa.max_samples": 100}, "df": {"df.steps": 5}}


def expressions() -> list[str]:
    return [
        "+".join(filter(None, [base, weight, asd]))
        for base in BASES
        for weight in ("size", "disco", "ssa")
        for asd in ("", "asd")
    ]


@pytest.mark.parametrize("expression", expressions())
def test_it_runs_or_is_refused_with_a_sentence(expression: str, tmp_path: Path) -> None:
    if why := refusal(expression):
        assert any(f"'{part}'" in why for part in expression.split("+")[1:]), why
        assert why.startswith(("The strategy ", "There is no ")), why
        return
    recipe = parse(expression)
    quick = {key: value for part in recipe.parts for key, value in QUICK.get(part, {}).items()}
    if expression.startswith("fedssa-shares"):
        quick = {"ssa.shares_steps": 5, "ssa.shares_samples": 100}
    result = run({**SMALL, "strategy": expression, "out": str(tmp_path / "run"), **quick})
    assert result.rounds == 2
    last = result.metrics[-1]
    assert last["dropped"] == []
    assert sum(last["weights"]) == pytest.approx(1)
    assert min(last["weights"]) >= 0
    assert all(np.isfinite(value).all() for value in result.model.values())
    assert 0 <= last.get("global/accuracy", last.get("personal/accuracy")) <= 1


def test_few_are_refused() -> None:
    """Most of the matrix has a meaning; a mistake in the rules would show here."""
    # Rival weightings, a weighting under `local`, whole client models under private heads, and ASD twice.
    by_base = {base: [e for e in expressions() if e.split("+")[0] == base and refusal(e)] for base in BASES}
    assert {base for base in BASES if len(by_base[base]) == 6} <= {
        "local",
        "feddisco",
        "fedssa",
        "fedssa-shares",
        "afl",
    }
    assert all(
        len(by_base[base]) <= 3
        for base in ("fedavg", "scaffold", "feddyn", "feddc", "fedssg", "fedvra", "fedprox", "moon", "asd")
    )
    assert not by_base["fedavg"] and not by_base["feddyn"]
