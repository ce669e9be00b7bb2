"""A model of the user's from what was given: a class or a function is called with what it asks for, a module is copied."""

from __future__ import annotations

import copy
import inspect
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from fl_config.errors import ConfigError
from fl_models.loading import run

GIVEN = "num_classes, shape, num_outputs, vocabulary"


class Offered(NamedTuple):
    """What a model may ask for, by the name of a parameter; the number of outputs is that of classes where there are classes."""

    num_classes: int
    shape: tuple[int, ...]
    num_outputs: int
    vocabulary: int


def example_of(shape: tuple[int, ...], kind: str) -> Tensor:
    """Two examples of zeros: two, so that a model that mixes up examples is seen."""
    return torch.zeros((2, *shape), dtype=torch.int64 if kind == "tokens" else torch.float32)


def make(made_by: Any, name: str, offered: Offered) -> nn.Module:
    """The module; its weights are drawn from torch's generator, or those of `made_by` itself where that is a module."""
    if isinstance(made_by, nn.Module):
        return copy.deepcopy(made_by)
    if not callable(made_by):
        raise ConfigError(f"Model {name} is {made_by!r}, but a model is a class, a function or an nn.Module.")
    made = run(name.rpartition(":")[0] or name, lambda: made_by(**arguments(made_by, name, offered)))
    if not isinstance(made, nn.Module):
        raise ConfigError(f"Model {name} gave {type(made).__name__}, but a model is a torch.nn.Module.")
    return made


def arguments(made_by: Any, name: str, offered: Offered) -> dict[str, Any]:
    """Those of `offered` that the signature names; with `**kwargs` the number of classes, as torchvision's models take it."""
    known = offered._asdict()
    try:
        parameters = inspect.signature(made_by).parameters.values()
    except (TypeError, ValueError):  # some of those that are written in C have none
        return {}
    required = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    by_position = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
    strange = [each for each in required if each not in known or each in by_position]
    if strange:
        raise ConfigError(
            f"Model {name} needs {strange[0]!r}, but a model is called by the keywords {GIVEN} only: give it a default."
        )
    chosen = {p.name: known[p.name] for p in parameters if p.name in known and p.name not in by_position}
    if "num_classes" not in chosen and "num_outputs" not in chosen and any(p.kind is p.VAR_KEYWORD for p in parameters):
        chosen["num_classes"] = offered.num_classes
    return chosen
