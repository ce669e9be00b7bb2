"""Anyone's nn.Module as a model of the project: the head is its last nn.Linear, the features are what goes into it."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from fl_models.model import Model, Outputs

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


class _Features(nn.Module):
    """The foreign module up to its head; holds the model outside nn.Module's registry, which would be a cycle."""

    def __init__(self, model: ForeignModel) -> None:
        super().__init__()
        self.__dict__["model"] = model

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.__dict__["model"].outputs(x).features
        return features


class ForeignModel(Model):
    """Shares the module's own registries, so that names in the state dict stay those of the module, without a prefix.

    `body`, `head` and `original` therefore live in the instance's dictionary: registering them would add names.
    """

    original: nn.Module

    def __init__(self, module: nn.Module) -> None:
        nn.Module.__init__(self)
        for registry in ("_modules", "_parameters", "_buffers", "_non_persistent_buffers_set", "training"):
            self.__dict__[registry] = module.__dict__[registry]
        name, head = _last_linear(module)
        self.__dict__.update(original=module, head=head, projection=None)
        self.__dict__["body"] = _Features(self)
        self.__dict__["default_trunk_end"] = _trunk_end(module, name)

    def outputs(self, x: Tensor) -> Outputs:
        seen: list[Tensor] = []

        # Registered for this one pass only, so that the model can be copied and the module used elsewhere meanwhile.
        def keep(_: nn.Module, inputs: tuple[Any, ...]) -> None:
            seen.append(inputs[0])

        handle = self.head.register_forward_pre_hook(keep)
        try:
            logits = self.forward(x)
        finally:
            handle.remove()
        if not seen:
            raise ValueError(
                f"The last nn.Linear of {type(self.original).__name__} was not called in its forward pass, so it "
                "has no features: define the layer that makes the logits after all the others."
            )
        return Outputs(seen[-1], seen[-1], logits)

    def forward(self, x: Tensor) -> Tensor:
        logits = self.original(x)
        if not isinstance(logits, Tensor):
            raise ValueError(
                f"{type(self.original).__name__}.forward returned {type(logits).__name__}, but a model must return one "
                "tensor of logits [batch, classes]."
            )
        return logits

    def features(self, x: Tensor) -> Tensor:
        return self.outputs(x).features

    def train(self, mode: bool = True) -> Self:
        # The module reads its own flag in its forward pass (F.dropout), and may override train() to freeze layers.
        self.original.train(mode)
        self.training = mode
        return self


def _last_linear(module: nn.Module) -> tuple[str, nn.Linear]:
    if any(isinstance(parameter, UninitializedParameter) for parameter in module.parameters()):
        raise ValueError(f"{type(module).__name__} has lazy layers without weights: run one batch through it first.")
    layers = [(name, layer) for name, layer in module.named_modules() if isinstance(layer, nn.Linear)]
    if not layers:
        raise ValueError(
            f"{type(module).__name__} has no nn.Linear, but a model's head is its last nn.Linear: end it with one."
        )
    return layers[-1]


def _trunk_end(module: nn.Module, head: str) -> tuple[str, ...]:
    """The last convolution and every later layer with parameters; only the head where there is no convolution."""
    if not head:
        return tuple(name for name, _ in module.named_parameters())
    layers = [
        (name, layer)
        for name, layer in module.named_modules()
        if next(layer.parameters(recurse=False), None) is not None
    ]
    convolutions = [index for index, (_, layer) in enumerate(layers) if isinstance(layer, _CONVOLUTIONS)]
    if not convolutions:
        return (head,)
    return tuple(name for name, _ in layers[convolutions[-1] :])


def wrap(module: nn.Module) -> Model:
    """`module` with the interface of `Model`; parameters are shared and state-dict names unchanged."""
    return module if isinstance(module, Model) else ForeignModel(module)
