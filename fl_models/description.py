"""A model in words, for the run folder: nobody has to guess what `auto` was, or which text of a file was used."""

from __future__ import annotations

from typing import Any

from torch import nn

from fl_models.foreign import ForeignModel
from fl_models.loading import Source
from fl_models.model import Model

SHOWN = 12  # layers


def describe(model: Model, source: Source | None = None) -> dict[str, Any]:
    """Name, number of parameters, the layers that have some, head and body; place and SHA-256 of the user's text."""
    layers = [
        f"{name or 'model'}: {_kind(layer)}, {size:,} parameters"
        for name, layer in model.named_modules()
        if (size := sum(parameter.numel() for parameter in layer.parameters(recurse=False)))
    ]
    if len(layers) > SHOWN:
        left_out = f"... {len(layers) - SHOWN} more layers ..."
        layers = [*layers[: SHOWN // 2], left_out, *layers[-SHOWN // 2 :]]
    words: dict[str, Any] = {
        "name": model.name,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "buffers": sum(buffer.numel() for buffer in model.buffers()),
        "head": model.head_names(),
        "layers": layers,
    }
    return words if source is None else {**words, "source": source.place, "sha256": source.sha256}


def _kind(layer: nn.Module) -> str:
    own: nn.Module = layer.original if isinstance(layer, ForeignModel) else layer
    details = own.extra_repr()
    return f"{type(own).__name__}({details})" if details else type(own).__name__
