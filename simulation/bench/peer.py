"""The bench's peer: the same federated averaging in pfl-research (Granqvist et al., 2024), where it is installed (the extra `pfl`).

Its fastest way on the cores of one machine: one process with as many threads as there are workers, the same clients in every round,
the same batches, samples that are tensors already, weights by the number of samples, no evaluation after the first round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from fl_config.options import Options
from simulation.bench.loop import cohorts_of, plain_model, samples_of_clients


def peer_rounds(config: Options, workers: int, announce: Callable[[int], None]) -> None:
    """All rounds of a run in pfl-research; `announce` is called after each."""
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.aggregate.weighting import WeightByDatapoints
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.callback.base import TrainingProcessCallback
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.hyperparam import NNTrainHyperParams
    from pfl.metrics import Metrics
    from pfl.model.pytorch import PyTorchModel

    class Learner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = plain_model(config.model)

        def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return F.cross_entropy(self.layers(x), y)

        def metrics(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
            return {}

    class Announcer(TrainingProcessCallback):  # type: ignore[misc]
        def after_central_iteration(
            self, aggregate_metrics: Any, model: Any, *, central_iteration: int
        ) -> tuple[bool, Any]:
            announce(central_iteration + 1)
            return False, Metrics()

    torch.set_num_threads(workers)
    torch.manual_seed(config.seed)
    cohorts = cohorts_of(config)
    clients = samples_of_clients(config, {client for cohort in cohorts for client in cohort})
    in_turn = (client for cohort in cohorts for client in cohort)

    def user(client: int) -> Any:
        x, y = clients[client]
        order = torch.randperm(len(y))
        return Dataset((x[order], y[order]), user_id=str(client))

    users = FederatedDataset(user, lambda: next(in_turn))
    learner = Learner()
    model = PyTorchModel(
        learner,
        local_optimizer_create=torch.optim.SGD,
        central_optimizer=torch.optim.SGD(learner.parameters(), lr=1.0),
    )
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=config.rounds,
            evaluation_frequency=config.rounds + 1,
            train_cohort_size=len(cohorts[0]),
            val_cohort_size=0,
        ),
        SimulatedBackend(users, users, postprocessors=[WeightByDatapoints()]),
        model,
        NNTrainHyperParams(
            local_num_epochs=config.epochs, local_learning_rate=config.lr, local_batch_size=config.batch_size
        ),
        callbacks=[Announcer()],
    )
