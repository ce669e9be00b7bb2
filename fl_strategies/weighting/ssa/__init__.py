"""FedSSA: weights learned on the server's unlabelled target data. The part is in method.py; these are its public functions."""

from fl_strategies.weighting.ssa.learning import learn_weights
from fl_strategies.weighting.ssa.loss import SsaTerms, ssa_loss, ssa_terms
from fl_strategies.weighting.ssa.method import Ssa
from fl_strategies.weighting.ssa.mixing import Mixture, learn_weights_by_shares
from fl_strategies.weighting.ssa.parameters import SsaParams
from fl_strategies.weighting.ssa.samples import predict_samples
from fl_strategies.weighting.ssa.shares import class_shares

__all__ = [
    "Mixture",
    "Ssa",
    "SsaParams",
    "SsaTerms",
    "class_shares",
    "learn_weights",
    "learn_weights_by_shares",
    "predict_samples",
    "ssa_loss",
    "ssa_terms",
]
