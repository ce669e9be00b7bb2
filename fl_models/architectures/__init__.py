"""The project's own models, one family per file: every file in this folder is imported, and declares what it holds."""

import importlib
import pkgutil

for _found in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_found}")
