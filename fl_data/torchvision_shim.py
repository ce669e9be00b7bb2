"""Import torchvision beside a CPU-only torch, whose published wheel's native library then does not load.

Without that library `import torchvision` stops at the operators `torchvision::nms` and `torchvision::qnms`; declaring
their two schemas is enough for transforms, datasets and models. Where the library loads, nothing is declared.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

import torch

# A Library's declarations vanish with the object, so it has to live as long as the process.
_declared: list[torch.library.Library] = []

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


def native_library_loads() -> bool:
    """Whether torchvision's compiled operators can be loaded into this torch."""
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        raise ImportError("torchvision is not installed; install the version named in constraints.txt.")
    candidates = [path for pattern in ("_C*.so", "_C*.pyd") for path in Path(spec.origin).parent.glob(pattern)]
    for path in candidates:
        try:
            torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
        except (OSError, ImportError):
            continue
        return True
    return False


def import_torchvision() -> ModuleType:
    """The torchvision module, importable with or without its native library."""
    if not _declared and not native_library_loads() and not hasattr(torch.ops.torchvision, "nms"):
        library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
        _declared.append(library)
        for schema in _SCHEMAS:
            library.define(schema)  # type: ignore[no-untyped-call]
    return importlib.import_module("torchvision")
