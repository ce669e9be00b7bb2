"""A client of a federation: Flower's supernode with less waiting; `python -m deploy.supernode` takes the flags of `flower-supernode`.

It starts two processes, as Flower does: the supernode, which talks to the server, and the one that starts clients' apps
(`deploy.launcher`). What differs inside them is in `fl_protocol.flower`; tests/deploy measures it.
One flag is our own, `--heartbeat SECONDS`.
"""

from __future__ import annotations

import os
import sys
import time

from fl_config.lifeline import name_process, tie_to_parent

HEARTBEAT, PORT = "--heartbeat", "--port"
PAUSE = 1.0  # seconds before a supernode that lost its way begins anew


def start(arguments: list[str]) -> None:
    from deploy.launcher import keep_launcher, new_secret
    from deploy.ports import LOOPBACK, hold_free_port
    from fl_protocol.flower import node_patches

    given, secret = list(arguments), new_secret()
    heartbeat = node_patches.HEARTBEAT
    if HEARTBEAT in given:
        place = given.index(HEARTBEAT)
        heartbeat = float(given[place + 1])
        del given[place : place + 2]
    if PORT not in given:
        _held, port = hold_free_port()
        given += [PORT, str(port)]
    address = f"{LOOPBACK}:{given[given.index(PORT) + 1]}"
    keep_launcher("client", address, secret)
    node_patches.patch_supernode(secret, heartbeat)
    node_patches.run_supernode([*given, "--host", LOOPBACK, "--isolation", "process"])
    # Flower's loop ends without an exit code where the server gave an answer that it does not know.
    print("The connection to the server broke in a way that is not foreseen; it is begun anew.", flush=True)
    time.sleep(PAUSE)
    os.execv(sys.executable, [sys.executable, "-m", "deploy.supernode", *arguments])


if __name__ == "__main__":
    tie_to_parent()
    name_process("fedloom-site")
    start(sys.argv[1:])
