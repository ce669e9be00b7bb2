"""Predictions of a finished run for one sample at a time, by FedSSA.

For each sample, weights over the clients' last models are learned at inference; the plain ensemble of the same models
stands beside them. The run must have kept those models, which `--set ssa.mode=sample_wise` asks for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from torch import Tensor

from fl_config.device import choose_device
from fl_config.errors import ConfigError
from fl_config.files import write_atomically
from fl_config.seeds import rng
from fl_config.toml import read_toml
from fl_data import Augment, Dataset, Samples, target_set
from fl_data.division import counts_of
from fl_models.flat import FlatModel, load_buffers
from fl_models.spec import build_model, model_spec, outputs_of
from fl_runs.folder import CLIENT_MODELS, CONFIG, MODEL
from fl_runs.plan import Plan, make_plan
from fl_runs.server import server_data
from fl_strategies.weighting.ssa import SsaParams, predict_samples

DESCENT = ("lambda_var", "lambda_we", "lr", "momentum", "nesterov", "weight_decay", "var_unbiased")  # the run's own


@dataclass
class Predictions:
    """What the run says about each chosen sample; `labels` is None where nobody knows them."""

    chosen: NDArray[Any]  # positions in the data
    learned: Tensor  # logits [B, C], by the learned weights
    ensemble: Tensor  # logits [B, C], by equal weights
    weights: Tensor  # [B, K], over the clients
    labels: Tensor | None
    clients: list[str]

    def told(self) -> list[str]:
        """A few lines: the mean weights, and how often each of the two is right, or else how often they agree."""
        mean = zip(self.clients, self.weights.mean(0).tolist(), strict=True)
        lines = [
            f"{len(self.learned)} samples, {len(self.clients)} client models",
            "mean weight: " + ", ".join(f"{client} {weight:.3f}" for client, weight in mean),
        ]
        learned, ensemble = self.learned.argmax(1), self.ensemble.argmax(1)
        if self.labels is None:
            return [*lines, f"the two agree on {_share(learned == ensemble):.4f} of the samples"]
        for name, classes in (("weights learned per sample", learned), ("plain ensemble", ensemble)):
            lines.append(f"accuracy, {name}: {_share(classes == self.labels):.4f}")
        return lines


def predict(
    folder: Path, *, data: str | None = None, samples: int = 1000, view_pairs: int = 4, steps: int = 100
) -> Predictions:
    """Classify `data` (the run's own target set without one) with the client models of a run folder.

    It draws `samples` of the data by the run's seed, or takes all with 0. Each sample's weights are learned from
    `view_pairs` pairs of augmented views in `steps` steps.
    """
    plan, clients = open_run(folder)
    config, dataset = plan.config, server_data(plan)
    counts = None if data else counts_of(config, dataset)
    x, y = target_set(data or config.target, dataset, counts, config.seed)
    chosen = np.arange(len(x))
    if samples and samples < len(x):
        chosen = np.sort(rng(config.seed, "predict").choice(len(x), samples, replace=False))
    batch, _ = Samples(x, None, dataset, choose_device(config.device), chosen).batch(slice(None))
    options = plan.parameters["ssa"]
    assert isinstance(options, SsaParams)
    learned, ensemble, weights = predict_samples(
        client_models(plan, dataset, folder, clients),
        batch,
        Augment("ssa", dataset),
        seed=config.seed,
        view_pairs=view_pairs,
        steps=steps,
        **{name: getattr(options, name) for name in DESCENT},
    )
    labels = None if y is None else torch.from_numpy(np.asarray(y)[chosen])
    return Predictions(chosen, learned, ensemble, weights, labels, list(clients))


def open_run(folder: Path) -> tuple[Plan, dict[str, Any]]:
    """The plan of a run and its clients' last models, as vectors by client id."""
    if not (folder / CONFIG).exists():
        raise ConfigError(f"{folder} is not a run folder: it has no {CONFIG}.")
    plan = make_plan(read_toml(folder / CONFIG))
    if not (folder / CLIENT_MODELS).exists():
        raise ConfigError(
            f"The run in {folder} did not keep its clients' models: run a strategy with ssa and "
            "--set ssa.mode=sample_wise."
        )
    return plan, dict(sorted(load_file(folder / CLIENT_MODELS).items()))


def client_models(plan: Plan, dataset: Dataset, folder: Path, vectors: dict[str, Any]) -> list[Any]:
    """One model per vector, in eval mode, with the buffers of the run's global model."""
    spec = model_spec(
        plan.config, dataset, plan.recipe.projection, num_outputs=outputs_of(dataset), source=plan.code.model
    )
    saved = load_file(folder / MODEL)
    models = []
    for vector in vectors.values():
        flat = FlatModel(build_model(spec).to(choose_device(plan.config.device)))
        flat.load(vector)
        load_buffers(flat, {name: value for name, value in saved.items() if name not in flat.names})
        models.append(flat.model.eval())
    return models


def write_predictions(path: Path, predictions: Predictions) -> None:
    """Write one JSON object per sample, each on its own line."""
    lines = []
    for row, index in enumerate(predictions.chosen.tolist()):
        line = {
            "sample": index,
            "learned": int(predictions.learned[row].argmax()),
            "ensemble": int(predictions.ensemble[row].argmax()),
            "weights": predictions.weights[row].tolist(),
        }
        if predictions.labels is not None:
            line["label"] = int(predictions.labels[row])
        lines.append(json.dumps(line))
    write_atomically(path, ("\n".join(lines) + "\n").encode())


def _share(right: Tensor) -> float:
    return float(right.float().mean())
