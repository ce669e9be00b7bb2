"""FedSpeed, the drift term of the client's half: FedDyn's, with its own coefficient and without size scaling.

Sun et al., "FedSpeed: Larger Local Interval, Less Communication Round, and Higher Generalization Accuracy", ICLR 2023:

    gradient   g2 + lam (theta - omega + h_i),   g2 = grad l(theta + rho g1 / |g1|)
    after      h_i <- h_i + Delta_i

This is the paper's rule with a = 1, h_i = -lambda g^_i and lam = 1 / lambda: `lam` is the coefficient of the prox term,
not the paper's lambda. The extra-gradient g2 is the optimiser `speed`, which also declares the parameters of both; with
rho 0 and equal client sizes the method is FedDyn with alpha = lam.
"""

from __future__ import annotations

from clients.objectives.base import LocalRound
from clients.objectives.dyn import Dyn
from clients.optimizers import SpeedParams
from fl_config.parts import part


@part(
    "speed",
    slot="drift",
    what="FedDyn's memory with an extra-gradient step",
    equation=r"""
        g_1 &= \nabla \ell(\theta), \qquad g_2 = \nabla \ell \Bigl( \theta + \rho \, \frac{g_1}{\lVert g_1 \rVert} \Bigr) \\
        g &= (1 - a) \, g_1 + a \, g_2 + \hat\lambda \, (\theta - \omega + h_i) \\
        h_i^{+} &= h_i + \Delta_i, \qquad \omega^{+} = \frac{1}{m} \sum_{i \in S} \theta_i + \frac{1}{N} \sum_{i=1}^{N} h_i^{+}
    """,
    paper="fedspeed",
    year=2023,
    plugin=False,
)
class Speed(Dyn):
    Params = SpeedParams
    remembers = True

    def strength(self, r: LocalRound) -> float:
        return float(self.params.lam)
