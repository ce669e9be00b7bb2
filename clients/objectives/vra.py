"""FedVRA, the client's half: an augmented Lagrangian with a dual step of its own size.

Wang et al., "Beyond ADMM: A Unified Client-Variance-Reduced Adaptive Federated Learning Framework", AAAI 2023:

    gradient   grad l(theta) + lambda_i + gamma (theta - omega)
    after      lambda_i <- lambda_i + a gamma Delta_i

No authors' code exists; the server's rule (1/d)(1/N) sum lambda is our reconstruction, and the defaults are the values
that the FedSSG paper states for its baseline. a = 1, d = gamma is FedDyn with alpha = gamma (equal sizes);
a = 1 / (gamma eta K) tracks SCAFFOLD. What FedSSG's repository runs under this name is FedDyn with alpha = 0.01.
"""

from __future__ import annotations

from pydantic import Field

from clients.objectives.base import LocalRound, Objective
from fl_config.params import Params
from fl_config.parts import part


class VraParams(Params):
    gamma: float = Field(0.1, ge=0, description="penalty of the augmented Lagrangian")
    a: float = Field(7.0, ge=0, description="dual step; 1 is federated ADMM")
    d: float = Field(10.0, gt=0, description="the server divides the mean dual variable by this")


@part(
    "vra",
    slot="drift",
    what="dual variables lambda_i += a gamma Delta_i",
    equation=r"""
        g &= \nabla \ell(\theta) + \lambda_i + \gamma \, (\theta - \omega) \\
        \lambda_i^{+} &= \lambda_i + a \, \gamma \, \Delta_i \\
        \omega^{+} &= \frac{1}{m} \sum_{i \in S} \theta_i + \frac{1}{d} \, \frac{1}{N} \sum_{i=1}^{N} \lambda_i^{+}
    """,
    paper="fedvra",
    year=2023,
    plugin=False,
)
class Vra(Objective):
    Params = VraParams
    remembers = True

    def begin_round(self, r: LocalRound) -> None:
        self.linear = r.remembered("lambda") - self.params.gamma * r.anchor

    def correction(self, r: LocalRound) -> None:
        r.flat.grad.add_(self.linear).add_(r.flat.theta, alpha=self.params.gamma)

    def end_round(self, r: LocalRound) -> None:
        r.state["lambda"] = r.remembered("lambda") + self.params.a * self.params.gamma * r.displacement()
