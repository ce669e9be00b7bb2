"""How Flower waits for the parts of a message. A message is announced before its arrays have arrived, on every hop of its way.

Whoever pulls it looks again after 1, 2, 4 ... seconds, for up to two hours, and no option changes that. In an idle round those
pauses were three of four seconds, and a host that died while it sent its reply would have held up the server for the two hours.
"""

from __future__ import annotations

from typing import Any

from flwr.supercore.inflatable import inflatable_utils

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.25  # seconds
PULLS: tuple[Any, ...] = (inflatable_utils.pull_objects, inflatable_utils.pull_and_inflate_object_from_tree)


def wait_for_parts(seconds: float | None = None) -> None:
    """From now on look again soon in this process; `seconds` is how long to wait for the parts of one message at most."""
    limit = {} if seconds is None else {"max_time": max(0.0, seconds)}
    for pull in PULLS:
        pull.__kwdefaults__.update(
            initial_backoff=FIRST_PAUSE, backoff_cap=LONGEST_PAUSE, max_tries_per_object=None, **limit
        )
