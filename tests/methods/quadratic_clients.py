"""Whole rounds of the drift-correcting methods over quadratic clients F_i = 1/2 |theta - a_i|^2."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from clients.objectives.base import LocalRound
from clients.objectives.dc import Dc, DcParams
from clients.objectives.dyn import Dyn, DynParams
from clients.objectives.scaffold import Scaffold, ScaffoldParams
from clients.objectives.speed import Speed
from clients.objectives.ssg import Ssg, SsgParams
from clients.objectives.vra import Vra, VraParams
from clients.optimizers import SpeedParams
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.server_update import dc, dyn, scaffold, ssg, vra
from fl_strategies.server_update.average import average
from fl_strategies.server_update.base import RoundSettings, ServerStep

TARGETS = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0], [-2.0, 0.5, 2.0], [4.0, 1.0, 0.0]])
START = np.array([0.3, -0.1, 0.2])
EQUAL = [30, 30, 30, 30]
UNEQUAL = [10, 20, 30, 60]  # q = 1/3, 2/3, 1, 2; K_i = 2, 4, 6, 12 and K = 6 with the setting below
PARTIAL = [[0, 2], [2, 3], [0, 1], [1, 3]]
FULL = [[0, 1, 2, 3]] * 4
SETTING: dict[str, Any] = {
    "lr": 0.1,
    "decay": 0.9,
    "epochs": 2,
    "batch": 10,
    "momentum": 0.0,
    "wd": 0.01,
    "T": 5,
    "p": 0.5,
}
HALVES: dict[str, tuple[Any, Any, Any]] = {
    "dyn": (Dyn, dyn.Dyn, DynParams),
    "speed": (Speed, dyn.Speed, SpeedParams),
    "vra": (Vra, vra.Vra, VraParams),
    "scaffold": (Scaffold, scaffold.Scaffold, ScaffoldParams),
    "dc": (Dc, dc.Dc, DcParams),
    "ssg": (Ssg, ssg.Ssg, SsgParams),
}


def local_steps(size: int, s: dict[str, Any]) -> int:
    return int(s["epochs"] * (math.ceil(size / s["batch"]) if s["batch"] else 1))


def train(objective: Any, r: LocalRound, target: torch.Tensor, steps: int, wd: float) -> None:
    """The training loop in miniature: gradient, correction, SGD with decay and momentum."""
    objective.begin_round(r)
    velocity = torch.zeros_like(r.anchor)
    for _ in range(steps):
        r.flat.grad = r.flat.theta - target
        objective.correction(r)
        velocity = r.momentum * velocity + r.flat.grad + (wd + objective.extra_decay) * r.flat.theta
        r.flat.theta = r.flat.theta - r.lr * velocity
        r.steps += 1
    objective.end_round(r)


class Federation:
    """Our hooks and server steps, driven over quadratic clients."""

    def __init__(self, method: str, sizes: list[int], **params: Any) -> None:
        client, server, declared = HALVES[method]
        self.objective: Any = client(declared(**params))
        self.step: ServerStep = server(declared(**params))
        self.population = Population(dict(enumerate(sizes)))
        self.omega = START.astype(np.float32)
        self.state = self.step.init(3)
        self.memory: dict[int, dict[str, torch.Tensor]] = {i: {} for i in range(len(sizes))}
        self.trajectory: list[np.ndarray] = []

    def run(self, cohorts: list[list[int]], weights: list[float] | None = None, **changes: Any) -> np.ndarray:
        s = {**SETTING, **changes}
        for t, ids in enumerate(cohorts, start=1):
            lr = s["lr"] * s["decay"] ** (t - 1)
            settings = RoundSettings(t, s["T"], s["p"], s["epochs"], s["batch"], lr, s["lr"])
            rounds = [self.local(i, settings, s) for i in ids]
            updates = np.stack([r.displacement().numpy() for r in rounds])
            extras = {name: np.stack([r.reply[name].numpy() for r in rounds]) for name in rounds[0].reply}
            sizes = np.array([self.population.sizes[i] for i in ids], dtype=float)
            p = np.array(weights) if weights else np.full(len(ids), 1 / len(ids))
            averaged, _ = average(self.omega, updates, p, {})
            cohort = Cohort(t, list(ids), sizes, updates, self.population, extras=extras)
            self.omega, self.state = self.step.drift(self.omega, averaged, cohort, self.state, settings)
            self.trajectory.append(self.omega)
        return np.array(self.trajectory)

    def local(self, i: int, settings: RoundSettings, s: dict[str, Any]) -> LocalRound:
        anchor = torch.from_numpy(self.omega.copy())
        fields: dict[str, Any] = dict.fromkeys(LocalRound.__dataclass_fields__)
        fields |= {"round": settings.round, "flat": SimpleNamespace(theta=anchor.clone(), grad=None), "anchor": anchor}
        fields |= {
            "lr": settings.lr,
            "initial_lr": settings.initial_lr,
            "epochs": s["epochs"],
            "momentum": s["momentum"],
        }
        fields |= {"state": dict(self.memory[i]), "reply": {}, "metrics": {}, "steps": 0}
        fields["extra"] = {name: torch.from_numpy(v) for name, v in self.step.broadcast(self.state).items()}
        fields["scalars"] = self.step.scalars(self.state, i, self.population, settings)
        r = LocalRound(**fields)
        target = torch.tensor(TARGETS[i], dtype=torch.float32)
        train(self.objective, r, target, local_steps(self.population.sizes[i], s), s["wd"])
        self.memory[i] = r.state
        return r
