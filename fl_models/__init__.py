"""Models, each with a body and a head, built by name from a seed; `flat` makes one vector of a model."""

from fl_models.architectures import MODELS, auto, build, check_model_spec
from fl_models.foreign import wrap
from fl_models.model import Model, Outputs

__all__ = ["MODELS", "Model", "Outputs", "auto", "build", "check_model_spec", "wrap"]
