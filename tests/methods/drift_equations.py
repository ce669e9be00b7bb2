"""An independent float64 transcription of the equations of the drift-correcting methods, on quadratic clients."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.methods.quadratic_clients import SETTING, START, TARGETS, local_steps


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
