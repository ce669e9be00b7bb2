"""Sending messages and taking replies as they come, over any Flower `Grid`, until all are in, time is up, or the run is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator

from flwr.app import Message
from flwr.serverapp import Grid

from fl_protocol.flower import set_sender, wait_for_parts

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.2  # seconds
# Later pauses are a share of the time since sending, up to so many seconds: clients that train for an hour are not asked for
# five times per second, and nobody waits more than 2 % longer than necessary.
SHARE, AT_MOST = 0.02, 2.0


class RunStopped(Exception):
    """The run was asked to stop (Ctrl-C); what is finished is kept."""


def exchange(
    grid: Grid, messages: Iterable[Message], timeout: float, stop: threading.Event, enough: int | None = None
) -> Iterator[Message]:
    """Push, then pull with pauses that grow while nothing comes and shrink again when something does.

    As soon as there are `enough` replies that are no errors, the others are given up. A late reply is never seen again, because
    only these messages are asked for; nor is a reply whose arrays have not arrived when time is up.
    There is no second pause for a grid that waits for replies by itself (`grid.waits`), and a grid that can `abandon` messages
    is told which ones were given up.
    """
    sent = list(messages)
    pushed = list(grid.push_messages(sent))
    asked = {known: message.metadata.dst_node_id for known, message in zip(pushed, sent, strict=True) if known}
    del sent
    waiting = set(asked)
    sent_at = time.monotonic()
    deadline = sent_at + timeout
    pause = FIRST_PAUSE
    try:
        while waiting:
            if stop.is_set():
                raise RunStopped
            began = time.monotonic()
            wait_for_parts(deadline - began)
            replies = list(grid.pull_messages(waiting))
            for reply in replies:
                waiting.discard(reply.metadata.reply_to_message_id)
                if reply.has_error():
                    set_sender(reply, asked[reply.metadata.reply_to_message_id])
                elif enough is not None:
                    enough -= 1
                yield reply
                if enough == 0:
                    return
            if replies:
                pause = FIRST_PAUSE
                continue
            now = time.monotonic()
            if now >= deadline:
                return
            if not getattr(grid, "waits", False):
                stop.wait(max(0.0, min(began + pause, deadline) - now))
            pause = min(pause * 1.5, max(LONGEST_PAUSE, min(AT_MOST, SHARE * (now - sent_at))))
    finally:
        abandon = getattr(grid, "abandon", None)
        if waiting and abandon is not None:
            abandon(waiting)
