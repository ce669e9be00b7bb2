"""SCAFFOLD, the client's half: control variates that replace the client's mean gradient by the population's.

Karimireddy et al., "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", ICML 2020, option II:

    gradient   grad l(theta) - c_i + c
    after      c_i+ = c_i - c - Delta_i / (K_i eta_t),   sent up: c_i+ - c_i

With client momentum the displacement is not K_i eta times a mean gradient, so K_i becomes `effective_steps`.
`size_scaled` is the form of FedDyn's and FedSSG's repositories: the gradient gets c / q_i, the server sums
q_i (c_i+ - c_i), and the divisor is the global K times the undecayed rate. Both agree for equal sizes, equal step
counts and a constant rate. Zeros at the start; who does not take part keeps c_i.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clients.effective_steps import effective_steps
from clients.objectives.base import LocalRound, Objective
from fl_config.params import Params
from fl_config.parts import part


class ScaffoldParams(Params):
    lr_in_cv: Literal["auto", "current", "initial"] = Field(
        "auto",
        description="rate in the control variate: this round's or the undecayed; auto: initial if size_scaled",
    )
    size_scaled: bool = Field(
        False, description="c / q_i, q_i (c_i+ - c_i) and the global step count, as in FedDyn's repository"
    )

    @property
    def undecayed(self) -> bool:
        return self.lr_in_cv == "initial" or (self.lr_in_cv == "auto" and self.size_scaled)


@part(
    "scaffold",
    slot="drift",
    what="gradient + c - c_i",
    equation=r"""
        g &= \nabla \ell(\theta) - c_i + c \\
        c_i^{+} &= c_i - c - \frac{\Delta_i}{K_i \, \eta_t} \\
        \omega^{+} &= \omega + \frac{1}{m} \sum_{i \in S} \Delta_i, \qquad c^{+} = c + \frac{1}{N} \sum_{i \in S} (c_i^{+} - c_i)
    """,
    paper="scaffold",
    year=2020,
    plugin=False,
)
class Scaffold(Objective):
    Params = ScaffoldParams
    remembers = True

    def begin_round(self, r: LocalRound) -> None:
        q = r.scalars["q"] if self.params.size_scaled else 1.0
        self.shift = r.extra["c"] / q - r.remembered("c")

    def correction(self, r: LocalRound) -> None:
        r.flat.grad.add_(self.shift)

    def end_round(self, r: LocalRound) -> None:
        lr = r.initial_lr if self.params.undecayed else r.lr
        steps = effective_steps(int(r.scalars["steps"]) if self.params.size_scaled else r.steps, r.momentum)
        change = -r.extra["c"] - r.displacement() / (steps * lr)
        r.reply["delta_c"] = change
        r.state["c"] = r.remembered("c") + change
