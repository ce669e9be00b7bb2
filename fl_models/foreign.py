"""Anyone's nn.Module as a model of the project: the head is its last nn.Linear, the features are what goes into it.

Plain PyTorch is contiguous in memory and people rely on it (`.view` after a convolution), so such a module gets contiguous
batches and keeps contiguous weights; the project's own models are channels-last instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from torch import Tensor, nn

from fl_config.errors import ConfigError
from fl_models.admission import aliases, check_logits, check_module, trial
from fl_models.model import Model, Outputs

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def as_plain(x: Tensor) -> Tensor:
    """The batch as plain PyTorch would have it: contiguous, and with the strides of that.

    A batch with one channel counts as contiguous whatever its strides are, but convolutions go by them.
    """
    return x.contiguous().view(-1).view(x.shape)


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

    `body`, `head` and `original` therefore live in the instance's dictionary: registering them would add names. Tied
    weights have one name in the state dict, the first; the module has both. Without a head, `outputs` gives the logits as
    the features.
    """

    channels_last = False
    original: nn.Module

    def __init__(self, module: nn.Module, head: str | None, name: str = "") -> None:
        nn.Module.__init__(self)
        for registry in ("_modules", "_parameters", "_buffers", "_non_persistent_buffers_set", "training"):
            self.__dict__[registry] = module.__dict__[registry]
        layer = nn.Identity() if head is None else module.get_submodule(head)
        self.__dict__.update(original=module, head=layer, has_head=head is not None, projection=None)
        self.__dict__["body"] = _Features(self)
        self.__dict__["default_trunk_end"] = _trunk_end(module, head)
        self.__dict__["second_names"] = aliases(module)
        self.__dict__["name"] = name or type(module).__name__

    def outputs(self, x: Tensor) -> Outputs:
        if not self.has_head:
            logits = self.forward(x)
            return Outputs(logits, logits, logits)
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
            raise ConfigError(
                f"The last nn.Linear of {type(self.original).__name__} was not called in its forward pass, so it "
                "has no features: define the layer that makes the logits after all the others, or wrap it with an example."
            )
        return Outputs(seen[-1], seen[-1], logits)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.original(as_plain(x))
        check_logits(self.original, logits)
        return logits

    def features(self, x: Tensor) -> Tensor:
        return self.outputs(x).features

    def train(self, mode: bool = True) -> Self:
        # The module reads its own flag in its forward pass (F.dropout), and may override train() to freeze layers.
        self.original.train(mode)
        self.training = mode
        return self

    def state_dict(self, *args: Any, **options: Any) -> Any:
        state = super().state_dict(*args, **options)
        for name in self.__dict__["second_names"]:
            state.pop(name, None)
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        tied = {name: state_dict[first] for name, first in self.__dict__["second_names"].items() if first in state_dict}
        return super().load_state_dict({**state_dict, **tied}, strict, assign)


def _last_linear(module: nn.Module) -> str | None:
    layers = [name for name, layer in module.named_modules() if isinstance(layer, nn.Linear)]
    return layers[-1] if layers else None


def _trunk_end(module: nn.Module, head: str | None) -> tuple[str, ...]:
    """The last convolution and every later layer with parameters; only the last layer where there is no convolution."""
    layers = [
        (name, layer)
        for name, layer in module.named_modules()
        if next(layer.parameters(recurse=False), None) is not None
    ]
    if head == "" or [name for name, _ in layers] == [""]:
        return tuple(name for name, _ in module.named_parameters())
    convolutions = [index for index, (_, layer) in enumerate(layers) if isinstance(layer, _CONVOLUTIONS)]
    if convolutions:
        return tuple(name for name, _ in layers[convolutions[-1] :])
    return (layers[-1][0] if head is None else head,)


def wrap(module: nn.Module, example: Tensor | None = None, num_outputs: int = 0, name: str = "") -> Model:
    """`module` with the interface of `Model`; parameters are shared and state-dict names unchanged.

    One pass with `example`, a small batch, gives lazy layers their weights, finds the head by what is really called last,
    and checks the number of outputs (0: any). Without it the head is the last nn.Linear that the module defines.
    """
    if isinstance(module, Model):
        return module
    if example is None:
        check_module(module)
        return ForeignModel(module, _last_linear(module), name)
    logits, head = trial(module, as_plain(example))
    _check_shape(module, logits, len(example), num_outputs)
    check_module(module)
    return ForeignModel(module, head, name)


def _check_shape(module: nn.Module, logits: Tensor, examples: int, num_outputs: int) -> None:
    kind, shape = type(module).__name__, tuple(logits.shape)
    if shape[:1] != (examples,):
        raise ConfigError(f"{kind} gave the shape {shape} for {examples} examples, but one row per example is needed.")
    if num_outputs and shape != (examples, num_outputs) and (num_outputs, shape) != (1, (examples,)):
        given = shape[1] if len(shape) == 2 else f"the shape {shape[1:]}"
        raise ConfigError(
            f"{kind} gives {given} outputs per example, but {num_outputs} are needed: take num_classes as a parameter, which "
            "is then set to the data's."
        )
