"""Flower's supernode with less waiting: `python -m deploy.supernode` takes the flags of `flower-supernode`.

It starts two processes, as Flower does: the supernode, which talks to the server, and the one that starts clients' apps, which
has this project's app loaded beforehand. What differs inside them is in `fl_protocol.flower.node_patches`; tests/deploy measures it.
"""

from __future__ import annotations

import os
import subprocess
import sys

from fl_protocol.flower.node_patches import patch_supernode, run_superexec, run_supernode

PRELOADED = ["deploy.apps"]
SUPEREXEC = "--superexec"  # our own first argument: be the process that starts clients' apps


def start(arguments: list[str]) -> None:
    patch_supernode()
    port = arguments[arguments.index("--port") + 1]
    subprocess.Popen([sys.executable, "-m", "deploy.supernode", SUPEREXEC, f"127.0.0.1:{port}", str(os.getpid())])
    run_supernode([*arguments, "--isolation", "process"])


if __name__ == "__main__":
    if sys.argv[1:2] == [SUPEREXEC]:
        run_superexec(sys.argv[2], int(sys.argv[3]), PRELOADED)
    else:
        start(sys.argv[1:])
