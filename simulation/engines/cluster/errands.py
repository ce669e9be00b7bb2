"""What the driver has done on a node before it trusts it with a worker, and when the run is over.

A node may have another version of this project, or none. So these functions are made inside a function: they travel by value, and need
nothing but Python until they are told where our packages are (see `worker_start.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulation.engines.worker_start import settler

Facts = dict[str, str]


def fact_finder() -> Callable[..., Facts]:
    def find_facts(found_in: dict[str, str], names: tuple[str, ...], packages: tuple[str, ...]) -> Facts:
        """Versions and processor here. `source` is a checksum of our packages' text, taken from where the driver has them, if
        there is such a place here, else from where this process finds them."""
        import hashlib
        import platform
        import socket
        from importlib import metadata
        from importlib.machinery import PathFinder
        from importlib.util import find_spec
        from pathlib import Path

        digest = hashlib.sha256()
        for name in names:
            spec = PathFinder.find_spec(name, [found_in[name]]) if name in found_in else None
            try:
                spec = spec or find_spec(name)
            except ValueError:  # a module that was made by hand
                spec = None
            place = Path(spec.origin) if spec is not None and spec.origin else None
            files = [] if place is None else [place]
            if place is not None and place.name == "__init__.py":
                files = sorted(place.parent.rglob("*.py"))
            for file in files:
                digest.update(f"{name} {file.name} ".encode() + file.read_bytes())
        facts = {"source": digest.hexdigest(), "host": socket.gethostname()}
        facts["python"] = ".".join(platform.python_version_tuple()[:2])
        for package in packages:
            try:
                facts[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                facts[package] = "none"
        described = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
        models = [line.partition(":")[2].strip() for line in described if line.startswith("model name")]
        facts["processor"] = models[0] if models else platform.processor()
        return facts

    return find_facts


def token_reader() -> Callable[[str], str]:
    def read_token(path: str) -> str:
        """What the file says here; nothing where there is none that can be read."""
        from pathlib import Path

        try:
            return Path(path).read_text()
        except OSError:
            return ""

    return read_token


def data_checker() -> Callable[..., tuple[str, str]]:
    settle = settler()

    def check_data(
        found_in: dict[str, str], current: str, path: list[str], run_config: dict[str, Any]
    ) -> tuple[str, str]:
        """The checksum of the run's data on this node, which are fetched if they are missing, or what is wrong with them."""
        import sys

        settle(found_in, current)
        sys.path += [entry for entry in path if entry not in sys.path]
        from simulation.engines.cluster.node_data import checksum_or_complaint

        return checksum_or_complaint(run_config)

    return check_data


def sweeper() -> Callable[[str], None]:
    def sweep(name: str) -> None:
        """Remove a folder of the node's folder for temporary files, with all that is in it."""
        import shutil
        import tempfile
        from pathlib import Path

        shutil.rmtree(Path(tempfile.gettempdir()) / name, ignore_errors=True)

    return sweep
