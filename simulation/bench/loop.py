"""The bench's yardstick: federated averaging as a plain PyTorch loop on one thread, with nothing around it.

It has float tensors that are normalised beforehand, `nn.Sequential`, `torch.optim.SGD`, and one client after the other; it has no
engine, no messages and no checks. Its time divided by the number of workers is what a perfect engine with this loop would take on
cores that do not slow each other down; several of these loops side by side, each with its share of the clients, are what one can
take on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from fl_config.options import Options
from fl_data import load
from fl_data.division import Division, parts_of
from fl_strategies.sampling import sample_cohort


def plain_model(name: str) -> nn.Sequential:
    """The bench's models for 28x28 images, written out."""
    if name == "mlp:200,200":
        hidden = [nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU()]
        return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(200, 10))
    first, second, wide, narrow = {"lenet": (6, 16, 120, 84), "cnn64": (64, 64, 384, 192)}[name]
    return nn.Sequential(
        *(nn.Conv2d(1, first, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(first, second, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(second * 16, wide), nn.ReLU(), nn.Linear(wide, narrow), nn.ReLU()),
        nn.Linear(narrow, 10),
    )


Samples = tuple[torch.Tensor, torch.Tensor]


def cohorts_of(config: Options) -> list[list[int]]:
    """Who trains in each round, as in the run that is measured beside it."""
    draws = (
        sample_cohort(range(config.clients), config.fraction, config.seed, round + 1) for round in range(config.rounds)
    )
    return [[int(client) for client in cohort] for cohort in draws]


def samples_of_clients(config: Options, wanted: set[int]) -> dict[int, Samples]:
    """The samples of these clients as tensors, normalised."""
    dataset = load(config.dataset)
    assert dataset.mean is not None
    assert dataset.std is not None
    x = (torch.tensor(dataset.x_train[:]).float() / 255 - dataset.mean[0]) / dataset.std[0]
    y = torch.tensor(dataset.y_train[:], dtype=torch.int64)
    parts = parts_of(Division.of(config))
    indices = {client: torch.as_tensor(parts[client]) for client in wanted}
    return {client: (x[index], y[index]) for client, index in indices.items()}


def plain_rounds(config: Options, share: int = 0, shares: int = 1) -> Iterator[None]:
    """Does one round each time it is asked for the next; of every cohort it trains its share, one of so many."""
    torch.set_num_threads(1)
    torch.manual_seed(config.seed)
    cohorts = [cohort[share::shares] for cohort in cohorts_of(config)]
    clients = samples_of_clients(config, {client for cohort in cohorts for client in cohort})
    model = plain_model(config.model)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    for chosen in cohorts:
        cohort = [clients[client] for client in chosen]
        total = sum(len(labels) for _, labels in cohort)
        average = {name: torch.zeros_like(value) for name, value in state.items()}
        for samples, labels in cohort:
            model.load_state_dict(state)
            train(model, samples, labels, config)
            for name, value in model.state_dict().items():
                average[name].add_(value, alpha=len(labels) / total)
        state = average
        yield


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor, config: Options) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=config.lr)
    for _ in range(config.epochs):
        for index in torch.split(torch.randperm(len(y)), config.batch_size):
            optimizer.zero_grad()
            F.cross_entropy(model(x[index]), y[index]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
