"""Our packages by name, and how this project finds them although a user's folder holds files of the same names.

Python looks for a module in the folder of the script first, where a user's `clients.py` or `simulation.py` would be taken for our
package. `settle` puts a finder before that: what our own modules import comes from where we are installed. What the user's modules
import is left to Python. One name is still one module in a process, so a user who imports a `clients` of his own gets a sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType

from fl_config.errors import ConfigError

# What parts and tasks of a user's need; an app of the user's own may have the other names.
PARTS = ("fl_config", "fl_data", "fl_models", "fl_tasks", "fl_protocol", "clients", "fl_strategies", "fl_runs")
OUR_NAMES = (*PARTS, "client_app", "server_app", "simulation", "deploy", "fedloom")
HOME = Path(__file__).resolve().parents[1]


class OursFirst:
    """A finder for our top-level names, for imports that stand in our own modules."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in OUR_NAMES or not is_ours(_importer(sys._getframe(1))):
            return None
        return PathFinder.find_spec(name, [str(HOME)])


def settle() -> None:
    """Have our modules import our packages from now on."""
    if OursFirst not in sys.meta_path:
        sys.meta_path.insert(0, OursFirst)


def check_names(names: Sequence[str] = OUR_NAMES) -> None:
    """Raise a sentence where one of these names is taken in this process by a module of the user's."""
    for name in names:
        place = getattr(sys.modules.get(name), "__file__", None)
        if place and not is_ours(place):
            raise ConfigError(
                f"{place} is imported here as {name!r}, which is the name of a package of FedLoom, and Python keeps one "
                f"module per name: rename the file, for example to my_{name}.py."
            )


def is_ours(place: str) -> bool:
    """Whether a file is one of ours, by where it lies."""
    file = Path(place)
    file = file if file.is_absolute() else file.resolve()
    if not file.is_relative_to(HOME):
        return False
    return file.relative_to(HOME).parts[0].removesuffix(".py") in OUR_NAMES


def _importer(frame: FrameType | None) -> str:
    """The file in which the import stands: the first one that is not the machinery of importing itself."""
    while frame is not None:
        place = frame.f_code.co_filename
        if "importlib" not in place and place != __file__:
            return place
        frame = frame.f_back
    return ""
