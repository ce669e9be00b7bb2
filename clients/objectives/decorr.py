"""FedDecorr (Shi et al., ICLR 2023): features must not collapse onto few directions, so correlation is penalised.

    L = CE + lam (1/B) mean_{a != b} M_ab^2,   M = Z~^T Z~,   Z~ = (Z - mean) / sqrt(var + 1e-8)

Z [B, d] are the penultimate features, standardised by column with the unbiased variance. Since M_ab = (B - 1) r_ab, the
term is lam ((B - 1)^2 / B) mean r^2: the scaling of the authors' code, to which the default lam = 0.1 belongs, and
about B times the paper's ||corr||_F^2 / d^2.
A batch of one sample, or one feature, has no correlations: the term is 0. lam = 0 is the base alone.
"""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from clients.objectives.base import Batch, LocalRound, Objective
from fl_config.params import Params
from fl_config.parts import part

EPS = 1e-8


def decorr_loss(features: Tensor) -> Tensor:
    """(1/B) mean_{a != b} M_ab^2 for features [B, d], without lam."""
    batch, width = features.shape
    if batch < 2 or width < 2:
        return features.sum() * 0.0
    # Sums over d^2 squares do not fit half precision, which autocast would choose for the product.
    with torch.autocast(features.device.type, enabled=False):
        return _mean_squared_correlation(features.to(torch.promote_types(features.dtype, torch.float32)))


def _mean_squared_correlation(features: Tensor) -> Tensor:
    batch, width = features.shape
    variance, mean = torch.var_mean(features, dim=0)
    standard = (features - mean) / (variance + EPS).sqrt()
    diagonal = standard.square().sum(dim=0)
    # ||Z~^T Z~|| = ||Z~ Z~^T||, and the smaller matrix is the faster one. Taking the diagonal off the sum could lose
    # digits, but not where d >= 2B: rank < B makes the diagonal at most half of the sum. Below that M itself is used.
    if width >= 2 * batch:
        off_diagonal = (standard @ standard.T).square().sum() - diagonal.square().sum()
    else:
        off_diagonal = (standard.T @ standard - diagonal.diag()).square().sum()
    return off_diagonal / (width * (width - 1) * batch)


class DecorrParams(Params):
    lam: float = Field(
        default=0.1,
        ge=0.0,
        allow_inf_nan=False,
        description="Weight of the decorrelation, in the scaling of the authors' code.",
    )


@part(
    "decorr",
    slot="objective",
    what="+ lambda |correlation of features|^2",
    equation=r"L = \ell(\theta) + \lambda \, \frac{1}{B} \, \frac{1}{d (d - 1)} \sum_{a \ne b} M_{ab}^2, \qquad M = \tilde Z^{\top} \tilde Z, \qquad \tilde Z = \frac{Z - \bar Z}{\sqrt{\operatorname{var} Z + 10^{-8}}}",
    paper="feddecorr",
    year=2023,
)
class Decorr(Objective):
    Params = DecorrParams
    needs = ("head",)
    params: DecorrParams

    def loss(self, r: LocalRound, batch: Batch) -> Tensor | None:
        return self.params.lam * decorr_loss(batch.outputs.features) if self.params.lam else None
