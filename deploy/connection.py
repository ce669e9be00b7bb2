"""How this package calls Flower's own commands: where they are, their environment, and the connection they use."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.upkeep.proxy import for_proxies
from fl_config.errors import ConfigError
from fl_config.toml import Scalar, to_toml

CONNECTION = "fedloom"


def command(name: str) -> str:
    """The path of one of Flower's commands, beside the Python that runs this."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        raise ConfigError(f"Flower's command {name!r} is not beside {sys.executable}: install fedloom there.")
    return str(path)


def environment(home: Path) -> dict[str, str]:
    """The variables for one of Flower's commands, which keeps its own files in `home`.

    Flower starts its helpers by name, so they must be on the path; nothing is reported to anyone.
    """
    return {
        **os.environ,
        **for_proxies(os.environ),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
        "PYTHONUNBUFFERED": "1",
    }


@dataclass(frozen=True)
class Connection:
    """The server's control address, and the certificate of the authority that vouches for it; None is plaintext."""

    address: str
    authority: Path | None

    @contextmanager
    def opened(self) -> Iterator[dict[str, str]]:
        """An environment in which the connection has the name CONNECTION; the user's own configuration is left alone."""
        with tempfile.TemporaryDirectory(prefix="fedloom-") as folder:
            table: dict[str, Scalar] = {"address": self.address}
            if self.authority is None:
                table["insecure"] = True
            else:
                table["root-certificates"] = str(self.authority.resolve())
            text = f"[superlink.{CONNECTION}]\n{to_toml(table)}"
            (Path(folder) / "config.toml").write_text(text, encoding="utf-8")
            yield environment(Path(folder))

    def flwr(self, *arguments: str) -> int:
        """Run a command of `flwr` on this connection and return its exit code."""
        with self.opened() as variables:
            return subprocess.run([command("flwr"), *arguments], env=variables, check=False).returncode


def authority_file(keys: Path) -> Path:
    """The authority's certificate in a folder of keys: a host's own, or the whole federation's."""
    for place in (keys, keys / "server", keys / "authority"):
        if (place / "ca.crt").is_file():
            return place / "ca.crt"
    raise ConfigError(
        f"There is no ca.crt in {keys}: give --keys the folder that `fedloom deploy init` made, or ask for --insecure."
    )
