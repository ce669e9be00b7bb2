"""What a weighting or a server step may use of the server itself: the model, its unlabelled target data, a seed, a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_data import Augment, Samples
from fl_models import Model
from fl_models.flat import FlatModel, load_buffers
from fl_protocol.types import Vector


@dataclass(frozen=True)
class ServerResources:
    """The server's own resources, to read only and without any label: `target` holds samples alone."""

    build: Callable[[], Model]  # a fresh model of the run's architecture, on the CPU
    seed: int
    device: torch.device
    target: Samples | None = None
    augment: Augment | None = None  # the views of FedSSA, suited to the data set
    buffers: dict[str, NDArray[np.generic]] = field(default_factory=dict)  # of the global model (BatchNorm)

    @classmethod
    def nothing(cls) -> ServerResources:
        """A server without a model or data of its own, which is all that most methods need."""

        def build() -> Model:
            raise ConfigError("This server has no model of its own: give the strategy a ServerResources.")

        return cls(build, 0, torch.device("cpu"))

    def with_buffers(self, buffers: dict[str, NDArray[np.generic]]) -> ServerResources:
        """The same with the buffers of this round's global model."""
        return replace(self, buffers=buffers)

    def unlabelled(self, who: str) -> Samples:
        if self.target is None:
            raise ConfigError(
                f"{who} learns on the server's unlabelled target data, but this server has none: give --target or a data set."
            )
        if self.target.y is not None:
            raise ConfigError(
                f"{who} must not see labels, but the server's target set carries them: load it without labels."
            )
        return self.target

    def model(self, vector: Vector) -> FlatModel:
        """A model in eval mode with these parameters."""
        flat = FlatModel(self.build().to(self.device))
        flat.load(vector)
        if self.buffers:
            load_buffers(flat, self.buffers)
        flat.model.eval()
        return flat
