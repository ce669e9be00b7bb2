"""What the server has to do with a client's update under masks: it is neither on the wire nor in the server's memory.

The clients are in a process of their own and the server in another, as they are in a deployment. The server's memory is read as the
operating system has it, page by page, so that nothing is overlooked because no name refers to it any more. What is looked for is kept inverted, bit by bit: otherwise
the search would find itself.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import Connection
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from flwr.app import Context, Error, Message, RecordDict

from clients import LocalSettings
from fl_protocol.fixed_point import FINE, to_fixed
from fl_protocol.flower import from_bytes, set_message_id, speak_for, to_bytes
from fl_protocol.masks import WORD
from fl_protocol.messages import Train
from fl_strategies.strategy import ComposedStrategy
from simulation.engines.inline import InlineGrid
from tests.fl_strategies.linear_federation import CLIENTS, Records, initial
from tests.fl_strategies.round.secure.masked_federation import app, order_of, overheard

RUN, INVERTED, PAGES = 7, 255, 2**24
LOCAL = LocalSettings(lr=0.23017, batch_size=4)  # no other test may have left the same updates in this process
Pattern = tuple[int, str, bytes]  # whose, what, and the bytes of it, inverted


def clients(line: Connection) -> None:
    """The process of all clients: answers messages, and knows what the server must not."""
    speak_for(RUN)
    made = app()
    contexts = {
        node: Context(RUN, node, {"partition-id": node - 2}, RecordDict(), {}) for node in range(2, 2 + CLIENTS)
    }
    secrets: list[Pattern] = []
    with overheard() as added:
        while (asked := line.recv()) is not None:
            content, node, kind, group = asked
            if kind == "secrets":
                line.send(secrets)
                continue
            message = Message(from_bytes(content), node, kind, group_id=group)
            set_message_id(message, "m")
            reply = made(message, contexts[node])
            line.send(to_bytes(reply.content))
            if isinstance(order := order_of(message), Train):
                secrets += patterns(node - 2, order, reply, added)


def patterns(client: int, order: Train, reply: Message, added: dict[Any, Any]) -> Iterator[Pattern]:
    """The client's update as the server might hold it: as floats of either length, and in fixed point."""
    if order.masks is not None:
        vector = added[order.round, client]
        forms = {"fixed point": to_fixed(vector, FINE), "weighted": vector, "weighted, in short": vector.astype("<f4")}
    else:
        arrays: Any = reply.content["arrays"]
        forms = {"the model": np.concatenate([array.numpy().ravel() for array in arrays.values()])}
    for what, values in forms.items():
        yield client, what, inverted(np.ascontiguousarray(values[:6]).tobytes())


def inverted(text: bytes) -> bytes:
    return bytes(np.frombuffer(text, dtype=np.uint8) ^ INVERTED)


class Elsewhere(InlineGrid):
    """A grid whose clients are in another process; keeps the bytes that pass."""

    def __init__(self, line: Connection) -> None:
        super().__init__(app(), CLIENTS, {})
        self.line, self.passed = line, list[tuple[str, bytes]]()

    def _answer(self, message: Message) -> Message:
        about = message.metadata
        content = to_bytes(message.content)
        self.line.send((content, about.dst_node_id, about.message_type, about.group_id))
        answer = self.line.recv()
        self.passed += [(type(order_of(message)).__name__, inverted(each)) for each in (content, answer)]
        return Message(from_bytes(answer), reply_to=message) if answer else Message(Error(0), reply_to=message)

    def secrets(self) -> list[Pattern]:
        self.line.send((b"", 0, "secrets", ""))
        found: list[Pattern] = self.line.recv()
        return found


def memory() -> Iterator[bytes]:
    """All that this process may write to, inverted, in pieces that overlap."""
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as pages:
        for line in maps.read().splitlines():
            bounds = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if bounds is None or line.endswith(("[vvar]", "[vsyscall]")):
                continue
            start, end = (int(bound, 16) for bound in bounds.groups())
            for at in range(start, end, PAGES):
                try:
                    pages.seek(at)
                    read = pages.read(min(PAGES + 256, end - at))
                except (OSError, ValueError, OverflowError):
                    continue  # a page that is mapped but not there
                content = np.frombuffer(read, dtype=np.uint8)
                if content.any():  # most of what is reserved was never written to
                    yield (content ^ INVERTED).tobytes()


def found_in(texts: Iterator[bytes] | list[bytes], secrets: list[Pattern]) -> set[tuple[int, str]]:
    return {(client, what) for text in texts for client, what, secret in secrets if secret in text}


@contextlib.contextmanager
def far_clients() -> Iterator[Elsewhere]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=clients, args=(theirs,))
    process.start()
    yield Elsewhere(ours)
    ours.send(None)
    process.join(60)
    process.kill()


@pytest.fixture
def grid() -> Iterator[Elsewhere]:
    with far_clients() as opened:
        yield opened


def test_no_update_is_on_the_wire_or_in_the_servers_memory() -> None:
    """In a process that has nothing but the server in it: this one may hold gigabytes that other tests have left."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pool.submit(look_for_updates).result()


def look_for_updates() -> None:
    with far_clients() as grid:
        look_through(grid)


def look_through(grid: Elsewhere) -> None:
    records = Records()
    masked = ComposedStrategy("fedavg", local=LOCAL, observers=[records], min_clients=CLIENTS, secure_aggregation=True)
    masked.start(grid, initial(), 2)
    assert [line["cohort"] for line in records.lines[1:]] == [list(range(CLIENTS))] * 2
    secrets = grid.secrets()
    assert len(secrets) == 2 * CLIENTS * 3
    assert found_in([text for _, text in grid.passed], secrets) == set()
    assert found_in(memory(), secrets) == set()
    # The same search finds the updates of a run without masks, on the wire and in memory.
    plain = ComposedStrategy("fedavg", local=LOCAL, min_clients=CLIENTS)
    with patch.object(plain.weave, "step", side_effect=plain.weave.step) as step:  # keeps what it was given
        plain.start(grid, initial(), 1)
    assert step.call_count == 1
    shown = grid.secrets()[len(secrets) :]
    everybody = {(client, "the model") for client in range(CLIENTS)}
    assert found_in([text for _, text in grid.passed], shown) == everybody
    assert found_in(memory(), shown) == everybody


def test_what_passes_in_place_of_an_update_is_noise(grid: Elsewhere) -> None:
    made = ComposedStrategy("fedavg", local=LOCAL, min_clients=CLIENTS, secure_aggregation=True)
    made.start(grid, initial(), 8)
    words = []
    for kind, text in grid.passed:
        content = from_bytes(inverted(text))
        for record in content.array_records.values():
            assert kind == "Train"
            if set(record) == {"masked"}:
                words.append(record["masked"].numpy())
            else:
                assert set(record) == {"weight", "bias"}, "an array that is neither the global model nor under masks"
    assert len(words) == 8 * CLIENTS and all(each.dtype == WORD for each in words)
    bits = np.unpackbits(np.concatenate(words).view(np.uint8))
    assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(bits)), "more ones or zeros than five deviations allow"
    assert len(np.unique(np.concatenate(words))) == sum(map(len, words)), "a word came twice"
