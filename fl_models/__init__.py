"""Models, each with a body and a head, built by name from a seed; `flat` makes one vector of a model."""

from fl_models.building import MODELS, auto, build, check_model_spec
from fl_models.description import describe
from fl_models.foreign import wrap
from fl_models.model import Model, Outputs
from fl_models.randomness import draws_random_numbers

__all__ = [
    "MODELS",
    "Model",
    "Outputs",
    "auto",
    "build",
    "check_model_spec",
    "describe",
    "draws_random_numbers",
    "wrap",
]
