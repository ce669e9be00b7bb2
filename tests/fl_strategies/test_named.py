"""Named strategies in a minimal Flower app that is not ours, with `clients.LocalClient` at the other end."""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg as FlowersFedAvg
from flwr.serverapp.strategy import Strategy
from torch import nn

import fl_strategies
from clients import LocalClient
from fl_config.errors import ConfigError
from fl_strategies import named
from fl_strategies.recipes import BASES
from simulation.engines.inline import InlineGrid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).astype(np.float32)
Y = (X @ RNG.normal(size=(4, 3))).argmax(1)


class TheirNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(torch.relu(self.fc1(x)))


def their_client_app() -> ClientApp:
    app = ClientApp()

    @app.train()
    @app.evaluate()
    @app.query()
    def answer(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        mine = slice(number * 20, (number + 1) * 20)
        return LocalClient.on_arrays(
            TheirNet(), X[mine], Y[mine], client_id=number, num_classes=3, state=context.state
        ).answer(message)

    return app


def accuracy(arrays: ArrayRecord) -> float:
    net = TheirNet()
    net.load_state_dict(arrays.to_torch_state_dict())
    return float((net(torch.from_numpy(X)).argmax(1).numpy() == Y).mean())


def run_in_their_app(strategy: Strategy, rounds: int = 12) -> ArrayRecord:
    torch.manual_seed(0)
    initial = ArrayRecord(TheirNet().state_dict())
    results = []
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        results.append(strategy.start(grid, initial, num_rounds=rounds))

    grid = InlineGrid(their_client_app(), 3, {})
    app(grid, grid.context(next(iter(grid.get_node_ids()))))
    return results[0].arrays


@pytest.mark.parametrize(
    "name", sorted(set(named.NAMED) - {"FedSSA", "FedSSAShares", "FedDF", "FedCUAU", "Local", "FedPer"})
)
def test_it_trains_in_a_foreign_app(name: str) -> None:
    made = getattr(fl_strategies, name)(min_clients=3, seed=1)
    assert isinstance(made, Strategy)
    arrays = run_in_their_app(made)
    assert all(np.isfinite(array.numpy()).all() for array in arrays.values())
    assert accuracy(arrays) > 0.4, name


def test_a_recipe_is_better_than_its_start_and_parameters_arrive() -> None:
    made = fl_strategies.FedDisco(a=0.3, b=0.2, plus="asd", parts={"asd.lam": 1.0}, min_clients=3)
    assert made.recipe.name == "asd+disco"
    assert made.parameters["disco"].model_dump()["a"] == 0.3
    assert accuracy(run_in_their_app(made, rounds=40)) > 0.75


def test_the_issues_example() -> None:
    made = fl_strategies.FedDisco(a=0.5, b=0.1, fraction_train=0.1)
    assert made.participation.fraction_train == 0.1
    with pytest.raises(ConfigError, match="FedDisco has no parameter 'aa'.*did you mean 'a'"):
        fl_strategies.FedDisco(aa=1)
    with pytest.raises(ConfigError, match="'a'"):
        fl_strategies.FedDisco(a=-1)


def test_every_base_has_a_documented_class() -> None:
    assert {made.base for made in named.NAMED.values()} == set(BASES)
    for made in named.NAMED.values():
        assert made.__doc__ and len(made.__doc__) > 10
    shown = inspect.signature(fl_strategies.FedDisco).parameters
    assert (shown["a"].default, shown["a"].annotation, shown["fraction_train"].default) == (0.5, float, 1.0)
    with pytest.raises(AttributeError):
        _ = fl_strategies.FedNothing


def test_flowers_own_fedavg_works_with_our_client() -> None:
    arrays = run_in_their_app(FlowersFedAvg(fraction_evaluate=0.0, min_train_nodes=3, min_available_nodes=3), rounds=20)
    assert accuracy(arrays) > 0.5


@pytest.mark.parametrize(
    "module",
    [
        "fl_strategies.weighting.disco",
        "fl_strategies.weighting.ssa",
        "clients.objectives.asd",
        "fl_strategies.server_update.ssg",
    ],
)
def test_mathematics_import_neither_flower_nor_ray(module: str) -> None:
    script = (
        f"import sys, {module}\nassert not {{'flwr', 'ray'}} & set(sys.modules), set(sys.modules) & {{'flwr', 'ray'}}"
    )
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=120)
