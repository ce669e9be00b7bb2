"""The process beside a supernode or a superlink that starts its apps: `python -m deploy.launcher KIND ADDRESS [AUTHORITY]`.

It learns the secret by which it is known from the process that started it, and ends with that process, as do the apps.
"""

from __future__ import annotations

import secrets
import sys
import threading
import time

from fl_config.lifeline import start_tied, tie_to_parent

PRELOADED = ["deploy.apps"]
PAUSE = 1.0  # seconds before another is started in place of one that ended


def new_secret() -> str:
    return secrets.token_hex(32)


def keep_launcher(kind: str, address: str, secret: str, authority: str | None = None) -> None:
    """From now on have a process that starts apps for this one, which listens at the address; one that ends is replaced."""
    words = [sys.executable, "-m", "deploy.launcher", kind, address, *([authority] if authority else [])]

    def keep() -> None:
        while True:
            code = start_tied(words, said=secret).wait()
            print(f"The process that starts apps ended with exit code {code}; another one is started.", flush=True)
            time.sleep(PAUSE)

    threading.Thread(target=keep, daemon=True, name="launcher").start()


if __name__ == "__main__":
    secret = tie_to_parent()
    from fl_protocol.flower.launching import run_launcher

    run_launcher(sys.argv[1], sys.argv[2], secret, sys.argv[3] if len(sys.argv) > 3 else None, PRELOADED)
