"""The server of a federation: Flower's superlink; `python -m deploy.superlink` takes the flags of `flower-superlink`.

Beside it runs the process that starts the server's app of each run (`deploy.launcher`).
"""

from __future__ import annotations

import itertools
import sys

from fl_config.lifeline import name_process, tie_to_parent

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # who listens everywhere is found on the loopback


def start(arguments: list[str]) -> None:
    from deploy.launcher import keep_launcher, new_secret
    from fl_protocol.flower.link_patches import patch_superlink, run_superlink

    given = dict(itertools.pairwise(arguments))
    host = EVERYWHERE.get(given["--host"], given["--host"])
    address = f"[{host}]:{given['--port']}" if ":" in host else f"{host}:{given['--port']}"
    secret = new_secret()
    keep_launcher("server", address, secret, given.get("--ssl-ca-certfile"))
    patch_superlink(secret)
    run_superlink([*arguments, "--isolation", "process"])


if __name__ == "__main__":
    tie_to_parent()
    name_process("fedloom-link")
    start(sys.argv[1:])
