"""Readers of file formats: of the published data sets, and of a user's own data (the ways in of ways.py)."""

import importlib
import pkgutil

# A way in is found by its file: whoever adds one edits nothing here.
for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
