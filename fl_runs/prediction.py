"""`fedloom predict`: FedSSA for one sample at a time. Weights over the clients' last models are learned for each sample at inference,
and the plain ensemble of the same models stands beside them. Needs a run with `--set ssa.mode=sample_wise`, which keeps those models."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file

from fl_config.device import choose_device
from fl_config.errors import ConfigError
from fl_config.files import write_atomically
from fl_config.seeds import rng
from fl_config.toml import read_toml
from fl_data import Augment, Samples, load, target_set
from fl_models.flat import FlatModel, load_buffers
from fl_models.spec import build_model, model_spec
from fl_runs.folder import CLIENT_MODELS, CONFIG, MODEL
from fl_runs.plan import Plan, make_plan
from fl_strategies.weighting.ssa import SsaParams, predict_samples


def command_predict(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    if args.samples < 0 or args.views < 1 or args.steps < 0:
        raise ConfigError("--samples and --steps are 0 or more, --views at least 1.")
    plan, clients = open_run(folder)
    config, dataset = plan.config, load(plan.config.dataset)
    x, y = target_set(args.data or config.target, dataset, None if args.data else _counts(plan), config.seed)
    chosen = np.arange(len(x))
    if args.samples and args.samples < len(x):
        chosen = np.sort(rng(config.seed, "predict").choice(len(x), args.samples, replace=False))
    device = choose_device(config.device)
    batch, _ = Samples(x, None, dataset, device, chosen).batch(slice(None))
    options = plan.parameters["ssa"]
    assert isinstance(options, SsaParams)
    names = ("lambda_var", "lambda_we", "lr", "momentum", "nesterov", "weight_decay", "var_unbiased")
    learned, ensemble, weights = predict_samples(
        models_of(plan, folder, clients),
        batch,
        Augment("ssa", dataset),
        seed=config.seed,
        view_pairs=args.views,
        steps=args.steps,
        **{name: getattr(options, name) for name in names},
    )
    labels = None if y is None else torch.from_numpy(np.asarray(y)[chosen])
    tell(learned, ensemble, weights, labels, list(clients))
    if args.out:
        write_predictions(Path(args.out), chosen, learned, ensemble, weights, labels)
    return 0


def open_run(folder: Path) -> tuple[Plan, dict[str, Any]]:
    if not (folder / CONFIG).exists():
        raise ConfigError(f"{folder} is not a run folder: it has no {CONFIG}.")
    plan = make_plan(read_toml(folder / CONFIG))
    if not (folder / CLIENT_MODELS).exists():
        raise ConfigError(
            f"The run in {folder} did not keep its clients' models: run a strategy with ssa and --set ssa.mode=sample_wise."
        )
    return plan, dict(sorted(load_file(folder / CLIENT_MODELS).items()))


def models_of(plan: Plan, folder: Path, clients: dict[str, Any]) -> list[Any]:
    spec = model_spec(plan.config, load(plan.config.dataset), plan.recipe.projection)
    saved = load_file(folder / MODEL)
    models = []
    for vector in clients.values():
        flat = FlatModel(build_model(spec).to(choose_device(plan.config.device)))
        flat.load(vector)
        load_buffers(flat.model, {name: value for name, value in saved.items() if name not in flat.names})
        models.append(flat.model.eval())
    return models


def tell(
    learned: torch.Tensor,
    ensemble: torch.Tensor,
    weights: torch.Tensor,
    labels: torch.Tensor | None,
    clients: list[str],
) -> None:
    print(f"{len(learned)} samples, {len(clients)} client models")
    print(
        "mean weight: "
        + ", ".join(f"{client} {weight:.3f}" for client, weight in zip(clients, weights.mean(0).tolist(), strict=True))
    )
    if labels is None:
        print(f"the two agree on {float((learned.argmax(1) == ensemble.argmax(1)).float().mean()):.4f} of the samples")
        return
    for name, logits in (("weights learned a sample", learned), ("plain ensemble", ensemble)):
        print(f"accuracy, {name}: {float((logits.argmax(1) == labels).float().mean()):.4f}")


def write_predictions(
    path: Path,
    chosen: Any,
    learned: torch.Tensor,
    ensemble: torch.Tensor,
    weights: torch.Tensor,
    labels: torch.Tensor | None,
) -> None:
    lines = []
    for row, index in enumerate(chosen.tolist()):
        line = {
            "sample": index,
            "learned": int(learned[row].argmax()),
            "ensemble": int(ensemble[row].argmax()),
            "weights": weights[row].tolist(),
        }
        lines.append(json.dumps(line if labels is None else {**line, "label": int(labels[row])}))
    write_atomically(path, ("\n".join(lines) + "\n").encode())
    print(f"Wrote {len(lines)} predictions to {path}.")


def _counts(plan: Plan) -> Any:
    from fl_data.division import counts_of

    return counts_of(plan.config, load(plan.config.dataset))
