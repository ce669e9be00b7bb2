"""How a client turns gradients into a step, on the flat vectors of the model: SGD, SAM, and FedSpeed's extra-gradient step.

    SGD    g = grad(theta)
    SAM    g1 = grad(theta); eps = rho g1 / (|g1| + 1e-7); g = grad(theta + eps)      Foret et al., ICLR 2021; FedSAM, Qu et al., ICML 2022
    Speed  the same with a mix: g = (1 - a) g1 + a grad(theta + eps)                  Sun et al., FedSpeed, ICLR 2023
    then   clip(g + corrections), v = momentum v + clipped + decay theta, theta -= lr v

`gradient` is called with a closure that writes the gradient of all losses at the current theta into `flat.grad`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from fl_config.params import Params
from fl_config.parts import find, half, part
from fl_models.flat import FlatModel

Closure = Callable[[bool], None]  # the argument: is this the first pass, the one that counts for statistics


class Sgd:
    kind: ClassVar[str] = "local optimizer"
    Params: ClassVar[type[Params]] = Params
    needs: ClassVar[tuple[str, ...]] = ()  # of the task ("classes") or of the model ("head")

    def __init__(self, params: Any) -> None:
        self.params = params

    def gradient(self, flat: FlatModel, closure: Closure) -> None:
        closure(True)


class SamParams(Params):
    rho: float = Field(0.05, ge=0, description="radius of the ascent step; 0 regresses to SGD")


@part(
    "sam",
    slot="optimizer",
    what="sharpness-aware local steps",
    equation=r"g_1 = \nabla \ell(\theta), \qquad \epsilon = \rho \, \frac{g_1}{\lVert g_1 \rVert}, \qquad g = \nabla \ell(\theta + \epsilon)",
    paper="fedsam",
    year=2022,
)
class Sam(Sgd):
    Params = SamParams
    mix = 1.0

    def gradient(self, flat: FlatModel, closure: Closure) -> None:
        closure(True)
        if self.params.rho == 0:
            return
        first = flat.grad.clone()
        start = flat.theta.clone()
        with torch.no_grad():
            flat.theta.add_(first * (self.params.rho / (first.norm() + 1e-7)))
            flat.zero_grad()
        closure(False)
        with torch.no_grad():
            flat.theta.copy_(start)
            if self.mix != 1.0:
                flat.grad.mul_(self.mix).add_(first, alpha=1 - self.mix)


class SpeedParams(SamParams):
    rho: float = Field(0.1, ge=0, description="radius of the ascent step; 0 leaves FedDyn's update")
    a: float = Field(1.0, ge=0, le=1, description="share of the second gradient in the mix")
    lam: float = Field(0.1, gt=0, description="prox coefficient (1 / lambda of the paper)")
    prox_in_wd: bool = Field(
        True, description="put the theta half of the prox term into the weight decay, unclipped, as the authors do"
    )


@half("speed")
class Speed(Sam):
    Params = SpeedParams

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.mix = params.a


def build_optimizer(name: str, values: dict[str, Any]) -> Sgd:
    """The optimiser that a message names; plain SGD is no part, every recipe has it unless one replaces it."""
    made: Sgd = Sgd(Params()) if name == "sgd" else (kind := find(Sgd.kind, name))(kind.Params(**values))
    return made


def clip_norm(grad: Tensor, largest: float) -> None:
    """g <- g min(1, largest / (|g| + 1e-6)), in place and without waiting for the device."""
    grad.mul_(torch.clamp(largest / (grad.norm() + 1e-6), max=1.0))


class Step:
    """One SGD step with weight decay after the clip; keeps the momentum of the round."""

    def __init__(self, lr: float, momentum: float, decay: float, clip: float) -> None:
        self.lr, self.momentum, self.decay, self.clip = lr, momentum, decay, clip
        self.velocity: Tensor | None = None

    @torch.no_grad()
    def __call__(self, flat: FlatModel, trainable: Tensor | None = None) -> None:
        grad = flat.grad
        if trainable is not None:
            grad.mul_(trainable)
        if self.clip:
            clip_norm(grad, self.clip)
        if self.decay:
            grad.add_(flat.theta if trainable is None else flat.theta * trainable, alpha=self.decay)
        if self.momentum:
            if self.velocity is None:
                self.velocity = grad.clone()
            else:
                self.velocity.mul_(self.momentum).add_(grad)
            grad = self.velocity
        flat.theta.add_(grad, alpha=-self.lr)
