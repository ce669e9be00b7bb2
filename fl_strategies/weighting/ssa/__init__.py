"""FedSSA: weights learned on the server's unlabelled target data. The part is in method.py; these are its public functions."""

from fl_strategies.weighting.ssa.learning import learn_weights
from fl_strategies.weighting.ssa.loss import SsaTerms, ssa_loss, ssa_terms
from fl_strategies.weighting.ssa.method import Ssa, SsaParams
from fl_strategies.weighting.ssa.samples import predict_samples

__all__ = ["Ssa", "SsaParams", "SsaTerms", "learn_weights", "predict_samples", "ssa_loss", "ssa_terms"]
