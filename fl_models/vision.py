"""Run code that may import torchvision, which by itself fails beside a torch that its native library does not fit."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TypeVar

from fl_data import import_torchvision

Answer = TypeVar("Answer")


def beside_torchvision(text: str, action: Callable[[], Answer]) -> Answer:
    """`action`, with torchvision imported beforehand where `text` names it: importing it takes seconds."""
    if "torchvision" in text and importlib.util.find_spec("torchvision") is not None:
        import_torchvision()
    try:
        return action()
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        import_torchvision()  # a library that the text imports asked for it
        return action()
