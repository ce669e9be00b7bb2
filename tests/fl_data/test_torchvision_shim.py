"""torchvision beside any torch, and a start-up that does not pay for it."""

from __future__ import annotations

import subprocess
import sys


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_torchvision_imports_and_works() -> None:
    code = """
from fl_data.torchvision_shim import import_torchvision
import torch
torchvision = import_torchvision()
assert import_torchvision() is torchvision
assert torchvision.datasets.CIFAR10.url and torchvision.datasets.MNIST.resources
image = torchvision.transforms.functional.hflip(torch.arange(4.0).view(1, 2, 2))
print(image.tolist(), sum(p.numel() for p in torchvision.models.resnet18().parameters()))
"""
    assert python(code) == "[[[1.0, 0.0], [3.0, 2.0]]] 11689512"


def test_nothing_is_declared_where_the_library_loads() -> None:
    code = """
import contextlib
from fl_data import torchvision_shim as shim
shim.native_library_loads = lambda: True
with contextlib.suppress(RuntimeError):
    shim.import_torchvision()
print(shim._declared)
"""
    assert python(code) == "[]"


def test_start_up_imports_nothing_heavy() -> None:
    heavy = "('torchvision', 'pandas', 'flwr_datasets', 'sklearn', 'datasets', 'PIL', 'flwr', 'ray')"
    assert python(f"import sys, fl_data; print([name for name in {heavy} if name in sys.modules])") == "[]"
