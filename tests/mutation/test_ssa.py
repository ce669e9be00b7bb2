"""FedSSA with two classes, on two views that differ, and as a whole run: what goes out, what stays with the server."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fl_strategies.weighting.ssa import learn_weights
from fl_strategies.weighting.ssa.views import mean_variances
from simulation import run

RUN = {
    "dataset": "digits", "model": "mlp:8", "partition": "dirichlet:0.3", "clients": 3, "rounds": 2, "lr": 0.1,
    "batch-size": 64, "engine": "inline", "device": "cpu", "seed": 4,
}  # fmt: skip
QUICK = {"ssa.epochs": 2, "ssa.n_view_banks": 1, "ssa.max_samples": 60}


def test_two_classes_are_enough() -> None:
    """The first client is sure of itself and the same on both views, the second says the opposite of itself."""
    sure = np.tile([4.0, -4.0], (20, 1))
    torn = np.tile([1.0, -1.0], (20, 1))
    views_1, views_2 = np.stack([sure, torn]), np.stack([sure, -torn])
    options = {"lambda_var": 1.0, "lambda_we": 1e-3, "lr": 0.5, "epochs": 20, "batch_size": 5, "seed": 0}
    weights = learn_weights(views_1, views_2, **options)  # type: ignore[arg-type]
    assert weights.sum() == pytest.approx(1)
    assert weights[0] > 0.9


@pytest.mark.parametrize(("unbiased", "divisor"), [(True, 2), (False, 3)])
def test_mean_variances_by_hand(unbiased: bool, divisor: int) -> None:
    y = torch.tensor([[0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3]])
    logits = y.log()[None, :, None, :]  # one view of one sample for two clients
    spread = float(((y[0] - 1 / 3) ** 2).sum())
    assert mean_variances(logits, unbiased) == pytest.approx([spread / divisor, 0.0], abs=1e-6)


def test_the_servers_model_is_its_own_and_what_goes_out_is_fedavgs(tmp_path: Path) -> None:
    plain = run({**RUN, "strategy": "fedavg", "out": str(tmp_path / "fedavg")})
    own = run({**RUN, **QUICK, "strategy": "fedssa", "out": str(tmp_path / "fedssa")})
    for ours, theirs in zip(own.metrics[1:], plain.metrics[1:], strict=True):
        assert ours["outgoing/loss"] == theirs["global/loss"]
        assert ours["weights"] == theirs["weights"]
        assert ours["global/loss"] != ours["outgoing/loss"]
        assert sum(ours["ssa/weights"]) == pytest.approx(1)
        assert max(ours["ssa/cosine"]) < 1 - 1e-6, "both views of a pair are the same"
    assert any((own.model[name] != plain.model[name]).any() for name in plain.model)
