"""What a module of the user's must be to be trained as one flat vector; everything else is refused with a sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from fl_config.errors import ConfigError

# What NumPy holds, safetensors writes and the server can average or take the largest of.
BUFFER_TYPES = frozenset(
    {
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.float32,
        torch.float64,
    }
)


def is_lazy(module: nn.Module) -> bool:
    lazy = (UninitializedParameter, UninitializedBuffer)
    return any(isinstance(each, lazy) for each in (*module.parameters(), *module.buffers()))


def check_module(module: nn.Module) -> None:
    """Raise ConfigError unless parameters and buffers are of kinds that travel, and all parameters are trained."""
    kind = type(module).__name__
    if isinstance(module, torch.jit.ScriptModule):
        raise ConfigError(f"{kind} is a TorchScript module, which cannot be trained here: give the Python module.")
    if is_lazy(module):
        raise ConfigError(f"{kind} has lazy layers without weights: run one batch through it first.")
    parameters = dict(module.named_parameters())
    if not parameters:
        raise ConfigError(f"{kind} has no parameters, so there is nothing to train.")
    for name, parameter in parameters.items():
        _check_parameter(kind, name, parameter)
    for name, value in module.state_dict().items():
        if name not in parameters:
            _check_buffer(kind, name, value)


def _check_parameter(kind: str, name: str, parameter: nn.Parameter) -> None:
    if parameter.dtype != torch.float32:
        raise ConfigError(f"Parameter {name!r} of {kind} is {parameter.dtype}, but models are float32: use .float().")
    if parameter.layout != torch.strided or parameter.is_meta:
        raise ConfigError(f"Parameter {name!r} of {kind} is not a plain dense tensor with numbers in it.")
    if not parameter.requires_grad:
        raise ConfigError(
            f"Parameter {name!r} of {kind} has requires_grad=False, but all parameters are trained and averaged: keep what "
            "is not trained as a buffer (register_buffer), or let it train."
        )


def _check_buffer(kind: str, name: str, value: object) -> None:
    if not isinstance(value, Tensor):
        raise ConfigError(f"{name!r} in the state dict of {kind} is {type(value).__name__}, but only tensors travel.")
    if value.dtype not in BUFFER_TYPES or value.layout != torch.strided or value.is_meta:
        raise ConfigError(
            f"Buffer {name!r} of {kind} is {value.dtype} ({value.layout}), which cannot travel: keep it as plain whole or real "
            "numbers, or register it with persistent=False."
        )


def aliases(module: nn.Module) -> dict[str, str]:
    """Second names of one tensor in the state dict (tied weights) and the first name of each."""
    first: dict[int, str] = {}
    second: dict[str, str] = {}
    for name, value in module.state_dict(keep_vars=True).items():
        known = first.setdefault(id(value), name)
        if known != name:
            second[name] = known
    return second


@contextlib.contextmanager
def in_eval_mode(module: nn.Module) -> Iterator[None]:
    """Every layer in eval mode, and back in the mode of its own afterwards."""
    before = [(each, each.training) for each in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for each, mode in before:
            each.training = mode


def check_logits(module: nn.Module, logits: object) -> None:
    if not isinstance(logits, Tensor):
        raise ConfigError(
            f"{type(module).__name__}.forward returned {type(logits).__name__}, but a model must return one tensor of logits "
            "[batch, classes]."
        )


def trial(module: nn.Module, example: Tensor) -> tuple[Tensor, str | None]:
    """One pass with `example`, which also gives lazy layers their weights: the outputs, and the name of the head if there is one.

    The head is the last layer with weights that the pass calls, if that is an nn.Linear and has as many outputs as the model.
    """
    called: list[tuple[str, nn.Module, Tensor]] = []

    def hook(name: str) -> object:
        def seen(layer: nn.Module, _: object, out: Tensor) -> None:
            called.append((name, layer, out))

        return seen

    layers = [
        (name, layer)
        for name, layer in module.named_modules()
        if isinstance(layer, nn.Linear) or not next(layer.children(), None)
    ]
    handles = [layer.register_forward_hook(hook(name)) for name, layer in layers]  # type: ignore[arg-type]
    try:
        with torch.no_grad(), in_eval_mode(module):
            logits: Tensor = module(example)
    except Exception as error:
        shape = tuple(example.shape[1:])
        raise ConfigError(
            f"{type(module).__name__} fails on examples of the shape {shape}: {type(error).__name__}: {error}"
        ) from error
    finally:
        for handle in handles:
            handle.remove()
    check_logits(module, logits)
    with_weights = [(name, layer, out) for name, layer, out in called if next(layer.parameters(), None) is not None]
    if not with_weights:
        return logits, None
    name, layer, out = with_weights[-1]
    is_head = isinstance(layer, nn.Linear) and out.dim() == 2 and out.numel() == logits.numel()
    return logits, name if is_head else None
