"""Whole rounds of the drift-correcting methods on quadratic clients F_i = 1/2 |theta - a_i|^2, against an independent
float64 transcription of the equations, closed forms, and each other where one method degenerates to another.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
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

torch.set_num_threads(1)

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
            cohort = Cohort(t, list(ids), sizes, updates, self.population, extras)
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


class Oracle:
    """The methods' equations in float64, every client's memory in a table and every mean computed afresh."""

    def __init__(self, method: str, sizes: list[int], **params: Any) -> None:
        self.method, self.sizes, self.o = method, sizes, SimpleNamespace(**params)
        self.N = len(sizes)
        self.q = np.array(sizes) * self.N / sum(sizes)
        self.h, self.s_i, self.last = (np.zeros((self.N, 3)) for _ in range(3))
        self.s, self.move, self.move_lr = np.zeros(3), np.zeros(3), 1.0
        self.count = [0] * self.N

    def gate(self, i: int, s: dict[str, Any]) -> float:
        c = self.count[i]
        gates: dict[str, float] = {
            "code": c / (s["T"] * s["p"]) + 1,
            "main": min(1.0, c / (s["p"] * s["t"] + 1e-6)),
            "appendix": c / (s["T"] * s["p"]),
        }
        return gates[self.o.variant]

    def run(self, cohorts: list[list[int]], weights: list[float] | None = None, **changes: Any) -> np.ndarray:
        s = {**SETTING, **changes}
        s["K"] = s["epochs"] * (math.ceil(sum(self.sizes) / self.N / s["batch"]) if s["batch"] else 1)
        omega, out = START.copy(), []
        for t, ids in enumerate(cohorts, start=1):
            s |= {"t": t, "eta": s["lr"] * s["decay"] ** (t - 1)}
            for i in ids:
                self.count[i] += 1
            thetas = {i: self.sgd(i, omega, s) for i in ids}
            self.s = self.s + sum((self.after(i, thetas[i] - omega, s) for i in ids), np.zeros(3)) / self.N
            w = weights or [1 / len(ids)] * len(ids)
            new = sum((wi * thetas[i] for wi, i in zip(w, ids, strict=True)), np.zeros(3))
            if self.method in {"dyn", "speed", "dc"}:
                new += self.h.mean(axis=0)
            elif self.method == "vra":
                new += self.h.mean(axis=0) / self.o.d
            elif self.method == "ssg":
                new += self.h[ids].mean(axis=0) if self.o.variant == "appendix" else self.h.mean(axis=0)
            self.move, self.move_lr, omega = new - omega, s["eta"], new
            out.append(omega)
        return np.array(out)

    def constant_and_slope(self, i: int, omega: np.ndarray, s: dict[str, Any]) -> tuple[np.ndarray, float]:
        """v and k of the added gradient v + k theta."""
        o, h, q = self.o, self.h[i], self.q[i]
        state = self.s / q - self.s_i[i]
        rules: dict[str, Any] = {
            "dyn": lambda: (o.alpha / q * (h - omega), o.alpha / q),
            "speed": lambda: (o.lam * (h - omega), o.lam),
            "vra": lambda: (h - o.gamma * omega, o.gamma),
            "scaffold": lambda: (state if o.size_scaled else self.s - self.s_i[i], 0.0),
            "dc": lambda: (o.alpha / q * (h - omega) + state, o.alpha / q),
            "code": lambda: (o.alpha / q * h + state, 0.0),
            "main": lambda: (o.alpha * self.gate(i, s) * (h - omega), o.alpha * self.gate(i, s)),
            "appendix": lambda: (o.alpha * h + (self.last[i] - self.move) / (s["K"] * self.move_lr), 0.0),
        }
        added: tuple[np.ndarray, float] = rules[o.variant if self.method == "ssg" else self.method]()
        return added

    def sgd(self, i: int, omega: np.ndarray, s: dict[str, Any]) -> np.ndarray:
        constant, slope = self.constant_and_slope(i, omega, s)
        theta, v = omega.copy(), np.zeros(3)
        for _ in range(local_steps(self.sizes[i], s)):
            v = s["momentum"] * v + (theta - TARGETS[i]) + constant + slope * theta + s["wd"] * theta
            theta = theta - s["eta"] * v
        return theta

    def after(self, i: int, delta: np.ndarray, s: dict[str, Any]) -> np.ndarray:
        """New memories of client i; returns its term of N s+."""
        m, o, q = s["momentum"], self.o, self.q[i]

        def gradients(steps: int) -> float:
            return math.fsum((1 - m**k) / (1 - m) for k in range(1, steps + 1))

        self.last[i] = delta
        if self.method == "vra":
            self.h[i] += o.a * o.gamma * delta
            return np.zeros(3)
        if self.method == "scaffold":
            divisor = (
                gradients(s["K"]) * s["lr"] if o.size_scaled else gradients(local_steps(self.sizes[i], s)) * s["eta"]
            )
            change = -self.s - delta / divisor
            self.s_i[i] += change
            return np.asarray(change * (q if o.size_scaled else 1))
        gated = delta * (self.gate(i, s) if self.method == "ssg" else 1)
        self.h[i] += gated
        if self.method != "dc" and not (self.method == "ssg" and o.variant == "code"):
            return np.zeros(3)
        change = -self.s / q - gated / (gradients(s["K"]) * s["lr"])
        self.s_i[i] += change
        return np.asarray(q * change)


METHODS: list[tuple[str, dict[str, Any]]] = [
    ("dyn", {"alpha": 0.3}),
    ("speed", {"lam": 0.2}),
    ("vra", {"gamma": 0.1, "a": 7.0, "d": 10.0}),
    ("scaffold", {"size_scaled": False}),
    ("scaffold", {"size_scaled": True}),
    ("dc", {"alpha": 0.3}),
    ("ssg", {"variant": "code", "alpha": 0.2}),
    ("ssg", {"variant": "main", "alpha": 0.2}),
    ("ssg", {"variant": "appendix", "alpha": 0.2}),
]


@pytest.mark.parametrize(
    ("method", "params"), METHODS, ids=[f"{m}-{'-'.join(map(str, p.values()))}" for m, p in METHODS]
)
@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
@pytest.mark.parametrize("changes", [{}, {"batch": 0, "decay": 1.0}], ids=["minibatch", "full_batch"])
def test_rounds_with_partial_participation_follow_the_equations(
    method: str, params: dict[str, Any], sizes: list[int], changes: dict[str, Any]
) -> None:
    ours, oracle = Federation(method, sizes, **params), Oracle(method, sizes, **params)
    np.testing.assert_allclose(ours.run(PARTIAL, **changes), oracle.run(PARTIAL, **changes), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("method", "params"), [METHODS[i] for i in (0, 3, 4, 5, 6)])
def test_client_momentum_divides_by_the_gradients_it_adds_up(method: str, params: dict[str, Any]) -> None:
    ours, oracle = Federation(method, UNEQUAL, **params), Oracle(method, UNEQUAL, **params)
    kwargs: dict[str, Any] = {"momentum": 0.5, "lr": 0.02}
    np.testing.assert_allclose(ours.run(PARTIAL, **kwargs), oracle.run(PARTIAL, **kwargs), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("method", "params"), METHODS)
def test_plug_in_weights_touch_only_the_average_of_theta(method: str, params: dict[str, Any]) -> None:
    ours, oracle = Federation(method, UNEQUAL, **params), Oracle(method, UNEQUAL, **params)
    weights = [0.9, 0.1]
    np.testing.assert_allclose(ours.run(PARTIAL, weights), oracle.run(PARTIAL, weights), rtol=2e-5, atol=2e-5)


def test_non_participants_keep_their_memory() -> None:
    federation = Federation("ssg", EQUAL)
    federation.run([[0, 2]])
    first = {name: value.clone() for name, value in federation.memory[0].items()}
    federation.run([[1, 2]])
    assert set(first) == {"h", "s"} and first["h"].abs().sum() > 0
    assert all(torch.equal(federation.memory[0][name], first[name]) for name in first)
    assert federation.memory[3] == {}
    assert ssg.read_counts(federation.state) == {0: 1, 2: 2, 1: 1}


def test_running_sum_on_the_server_is_the_sum_of_client_memories() -> None:
    for method, name, total in (("dyn", "h", "H"), ("dc", "h", "H"), ("ssg", "h", "H"), ("vra", "lambda", "Lambda")):
        federation = Federation(method, UNEQUAL)
        federation.run(PARTIAL)
        expected = sum(memory[name].double().numpy() for memory in federation.memory.values())
        np.testing.assert_allclose(federation.state[total], expected, rtol=1e-5, atol=1e-6)


def test_scaffold_control_variate_is_the_mean_of_the_clients() -> None:
    federation = Federation("scaffold", UNEQUAL)
    federation.run(PARTIAL)
    mean = sum(memory["c"].double().numpy() for memory in federation.memory.values()) / 4
    np.testing.assert_allclose(federation.state["c"], mean, rtol=1e-5, atol=1e-6)


def test_scaffold_with_one_full_step_is_sgd_on_the_mean_loss() -> None:
    ours = Federation("scaffold", EQUAL).run(FULL, epochs=1, batch=0, wd=0.0, decay=1.0)
    omega, expected = START.copy(), []
    for _ in FULL:
        omega = omega - 0.1 * (omega - TARGETS.mean(axis=0))
        expected.append(omega)
    np.testing.assert_allclose(ours, np.array(expected), rtol=1e-5, atol=1e-6)


def test_scaffold_size_scaled_agrees_with_the_textbook_on_equal_sizes_and_constant_rate() -> None:
    plain = Federation("scaffold", EQUAL).run(PARTIAL, decay=1.0)
    scaled = Federation("scaffold", EQUAL, size_scaled=True).run(PARTIAL, decay=1.0)
    np.testing.assert_array_equal(plain, scaled)


@pytest.mark.parametrize("method", ["dyn", "speed"])
def test_dyn_fixed_point_is_the_mean_target(method: str) -> None:
    alpha = 0.5
    federation = Federation(method, EQUAL, **{"dyn": {"alpha": alpha}, "speed": {"lam": alpha}}[method])
    # 60 steps at rate 0.5 solve the local problem to float32; 60 rounds reach the fixed point.
    federation.run([[0, 1, 2, 3]] * 60, lr=0.5, decay=1.0, epochs=60, batch=0, wd=0.0)
    mean = TARGETS.mean(axis=0)
    np.testing.assert_allclose(federation.omega, mean, atol=2e-5)
    for i, target in enumerate(TARGETS):
        np.testing.assert_allclose(alpha * federation.memory[i]["h"].numpy(), target - mean, atol=5e-5)
    np.testing.assert_allclose(federation.state["H"], 0, atol=2e-4)


def test_dyn_with_prox_outside_the_weight_decay_takes_the_same_steps() -> None:
    inside = Federation("dyn", UNEQUAL, alpha=0.3, prox_in_wd=True).run(PARTIAL)
    outside = Federation("dyn", UNEQUAL, alpha=0.3, prox_in_wd=False).run(PARTIAL)
    np.testing.assert_allclose(inside, outside, rtol=1e-5, atol=1e-6)


def test_speed_without_extra_gradient_is_dyn_on_equal_sizes_only() -> None:
    speed = Federation("speed", EQUAL, lam=0.3).run(PARTIAL)
    np.testing.assert_array_equal(speed, Federation("dyn", EQUAL, alpha=0.3).run(PARTIAL))
    speed = Federation("speed", UNEQUAL, lam=0.3).run(PARTIAL)
    assert not np.allclose(speed, Federation("dyn", UNEQUAL, alpha=0.3).run(PARTIAL), atol=1e-3)


def test_vra_with_unit_dual_step_is_dyn() -> None:
    ours = Federation("vra", EQUAL, gamma=0.25, a=1.0, d=0.25)
    reference = Federation("dyn", EQUAL, alpha=0.25)
    np.testing.assert_allclose(ours.run(PARTIAL), reference.run(PARTIAL), rtol=1e-5, atol=1e-6)
    for i in range(4):
        np.testing.assert_allclose(ours.memory[i]["lambda"] / 0.25, reference.memory[i]["h"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_ssg_without_gate_and_with_prox_penalty_is_dc_to_the_bit(sizes: list[int]) -> None:
    ours = Federation("ssg", sizes, alpha=0.3, gate="one", penalty="prox")
    reference = Federation("dc", sizes, alpha=0.3)
    np.testing.assert_array_equal(ours.run(PARTIAL), reference.run(PARTIAL))
    np.testing.assert_array_equal(ours.state["H"], reference.state["H"])
    np.testing.assert_array_equal(ours.state["s"], reference.state["s"])
    assert np.abs(reference.state["s"]).sum() > 0.1


def test_ssg_with_nothing_on_the_client_is_fedavg_plus_mean_memory() -> None:
    ours = Federation("ssg", EQUAL, alpha=0.0, gate="one", correction="none").run(PARTIAL, decay=1.0, wd=0.0)
    shrink, omega, h = 1 - 0.9**6, START.copy(), np.zeros((4, 3))
    for row, ids in zip(ours, PARTIAL, strict=True):
        moves = shrink * (TARGETS[ids] - omega)  # FedAvg's local training in closed form
        h[ids] += moves
        omega = omega + moves.mean(axis=0) + h.mean(axis=0)
        np.testing.assert_allclose(row, omega, rtol=1e-5, atol=1e-6)


def test_ssg_after_one_full_round_moves_by_one_plus_gate_times_the_mean_move() -> None:
    ours = Federation("ssg", EQUAL).run(FULL[:1], wd=0.0, p=1.0, T=8)
    rho = 1 / 8 + 1
    move = (1 - 0.9**6) * (TARGETS.mean(axis=0) - START)
    np.testing.assert_allclose(ours[0], START + (1 + rho) * move, rtol=1e-5, atol=1e-6)


TABLE_6 = [
    {"penalty": "none", "correction": "none"},
    {"correction": "none"},
    {"penalty": "none"},
    {"gate": "one"},
    {},
]


def test_every_row_of_the_ablation_is_a_method_of_its_own() -> None:
    finals = [Federation("ssg", UNEQUAL, alpha=0.2, **row).run(PARTIAL)[-1] for row in TABLE_6]
    for a in range(len(finals)):
        for b in range(a):
            assert not np.allclose(finals[a], finals[b], atol=1e-3), (TABLE_6[a], TABLE_6[b])


def test_ablation_without_penalty_is_alpha_zero() -> None:
    np.testing.assert_array_equal(
        Federation("ssg", UNEQUAL, alpha=0.2, penalty="none").run(PARTIAL),
        Federation("ssg", UNEQUAL, alpha=0.0).run(PARTIAL),
    )


def test_ssg_actual_step_count_equals_the_global_one_when_clients_are_equal() -> None:
    for correction in ("feddc_state", "previous_moves"):
        global_k = Federation("ssg", EQUAL, correction=correction).run(PARTIAL)
        actual_k = Federation("ssg", EQUAL, correction=correction, K_mode="actual").run(PARTIAL)
        np.testing.assert_array_equal(global_k, actual_k)
        other = Federation("ssg", UNEQUAL, correction=correction, K_mode="actual").run(PARTIAL)
        assert not np.allclose(other, Federation("ssg", UNEQUAL, correction=correction).run(PARTIAL), atol=1e-4)
