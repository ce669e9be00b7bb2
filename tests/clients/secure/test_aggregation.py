"""What a client does in a masked sum, step by step, and what it refuses to a server that asks for too much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clients.secure.aggregation import mask, reveal, share_secrets, show_keys, take_step
from clients.secure.round_secrets import RoundSecrets
from clients.state import RecordMemory
from fl_config.errors import ConfigError
from fl_protocol.flower.secret_sharing import secret_of
from fl_protocol.masks import add_own_mask, add_pair_mask, commitment, public_key
from fl_protocol.messages import Masks, Peer, ShareSecrets, ShowKeys, Unmask
from fl_protocol.secure_replies import ByPlace

COUNT, THRESHOLD = 5, 4
VALUES = [np.array([client, -client, 2**40 + client]) for client in range(COUNT)]


class Sum:
    """Five clients as far as they have come."""

    def __init__(self, session: str = "s") -> None:
        self.memories = [RecordMemory() for _ in range(COUNT)]
        peers = [show_keys(memory, ShowKeys(session)).peer for memory in self.memories]
        self.order = ShareSecrets(session, peers, THRESHOLD, [1 / COUNT] * COUNT, [1 / COUNT] * COUNT)

    def share(self) -> Sum:
        self.sealed = [share_secrets(memory, self.order).each for memory in self.memories]
        return self

    def secrets(self, client: int, stage: Any = "shared") -> RoundSecrets:
        return RoundSecrets.recall(self.memories[client], self.order.session, stage)

    def masks(self, client: int, silent: tuple[int, ...] = ()) -> Masks:
        sent = [b"" if sender in silent else self.sealed[sender][client] for sender in range(COUNT)]
        return Masks(self.order.session, [parcel.decode() for parcel in sent])

    def mask(self, client: int, silent: tuple[int, ...] = ()) -> np.ndarray[Any, Any]:
        return mask(self.memories[client], self.secrets(client), self.masks(client, silent), VALUES[client])

    def reveal(self, client: int, *survivors: int) -> ByPlace:
        return reveal(self.memories[client], Unmask(self.order.session, list(survivors)))


def test_masks_come_off_the_sum_with_what_survivors_reveal() -> None:
    """By hand: clients 0 to 3 survive, 4 dropped out after it had shared its secrets."""
    going = Sum().share()
    total = np.sum([going.mask(client) for client in range(4)], axis=0, dtype=np.uint64)
    context = RoundSecrets.recall(going.memories[0], "s", "masked").context
    told = [going.reveal(client, 0, 1, 2, 3).each for client in range(4)]
    for place, peer in enumerate(going.order.peers):
        seed = secret_of([shares[place] for shares in told])
        if place < 4:
            assert commitment(seed) == peer.commitment
            add_own_mask(total, seed, context, -1)
        else:
            assert public_key(seed).hex() == peer.masking
            for other in range(4):
                add_pair_mask(total, seed, place, other, going.order.peers, context)
    assert total.astype(np.int64).tolist() == np.sum(VALUES[:4], axis=0).tolist()


def test_a_masked_vector_says_nothing_without_its_masks() -> None:
    going = Sum().share()
    alone, again = going.mask(0), Sum().share().mask(0)
    assert not np.array_equal(alone, VALUES[0]) and not np.array_equal(alone, again), "masks are used twice"
    masked = Sum().share()
    long = mask(masked.memories[0], masked.secrets(0), masked.masks(0), np.zeros(4096, dtype=np.int64))
    bits = np.unpackbits(long.view(np.uint8))
    assert abs(bits.mean() - 0.5) < 0.005, "4 x 2^16 fair bits are within 5 deviations of one half"
    assert len(np.unique(long)) == 4096


def test_a_share_is_only_for_the_one_it_was_sealed_for() -> None:
    going = Sum().share()
    for client in range(COUNT):
        going.mask(client)
    swapped = going.memories[1]
    kept = RoundSecrets.recall(swapped, "s", "masked")
    kept.parcels[2] = going.sealed[2][3].decode()  # the server passes on what was for client 3
    kept.parcels[0] = going.sealed[0][1].decode()[:-8] + "AAAAAAA="  # and changes another
    kept.keep(swapped, "masked")
    told = going.reveal(1, 0, 1, 2, 3, 4).each
    assert [len(share) for share in told] == [0, 36, 0, 36, 36]


def test_both_secrets_of_one_client_are_never_revealed() -> None:
    going = Sum().share()
    for client in range(COUNT):
        going.mask(client)
    assert len(going.reveal(0, 0, 1, 2, 3, 4).each[1]) == 36
    with pytest.raises(ConfigError, match="takes no part in"):
        going.reveal(0, 0, 2, 3, 4)
    assert going.memories[0].aside() == b"", "the secrets of the round are still there"


@pytest.mark.parametrize(
    ("survivors", "sentence"),
    [
        ((0, 1, 2), "over 3 clients, and 4 are needed"),
        ((1, 2, 3, 4), "not this client"),
        ((0, 1, 2, 2), "took no part in it"),
        ((0, 1, 2, 7), "took no part in it"),
        ((0, 1, 2, 4), "took no part in it"),  # it never shared
    ],
)
def test_a_server_that_names_the_wrong_survivors_gets_nothing(survivors: tuple[int, ...], sentence: str) -> None:
    going = Sum().share()
    going.mask(0, silent=(4,))
    with pytest.raises(ConfigError, match=sentence):
        going.reveal(0, *survivors)
    with pytest.raises(ConfigError, match="takes no part in"):
        going.reveal(0, 0, 1, 2, 3)


def test_a_sum_of_which_too_few_survivors_are_a_part_is_not_unmasked() -> None:
    """Four are left, but the weights of two of them are 0: the sum would be that of two clients."""
    going = Sum()
    going.order = replace(going.order, weights=[0.4, 0.0, 0.0, 0.3, 0.3])
    going.share().mask(0)
    with pytest.raises(ConfigError, match="2 have a weight above 0, and 3 are needed: nothing is revealed"):
        going.reveal(0, 0, 1, 2, 3)


def test_every_step_is_taken_once_and_in_order() -> None:
    going = Sum()
    with pytest.raises(ConfigError, match="it is at 'shown', not at 'masked'"):
        going.reveal(0, 0, 1, 2, 3)
    going.share()
    with pytest.raises(ConfigError, match="asks this client twice"):
        share_secrets(going.memories[0], going.order)
    going.mask(0)
    with pytest.raises(ConfigError, match="asks this client twice"):
        going.secrets(0)
    show_keys(going.memories[0], ShowKeys("t"))
    with pytest.raises(ConfigError, match="takes no part in"):
        going.reveal(0, 0, 1, 2, 3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda o: {"peers": o.peers[1:]}, "this one among them"),
        (lambda o: {"peers": o.peers[:2]}, "3 or more different clients"),
        (lambda o: {"peers": [*o.peers[:4], o.peers[1]]}, "3 or more different clients"),
        (lambda o: {"peers": [*o.peers[:4], Peer(o.peers[1].masking, "00" * 32, "00" * 32)]}, "different clients"),
        (lambda o: {"threshold": 2}, "above half of them, but the server says 2"),
        (lambda o: {"threshold": 6}, "but the server says 6"),
        (lambda o: {"weights": [1.0]}, "a weight for every client"),
        (lambda o: {"weights": [1.0, 0.0, 0.0, 0.0, 0.0]}, "above 0 for 3 or more"),
    ],
)
def test_a_round_that_would_bare_somebody_is_refused(change: Any, sentence: str) -> None:
    going = Sum()
    with pytest.raises(ConfigError, match=sentence):
        share_secrets(going.memories[0], replace(going.order, **change(going.order)))


def test_clients_that_were_told_different_things_add_masks_that_stay() -> None:
    """A server that gives one client all the weight must tell everybody, or it gets noise."""
    going = Sum()
    honest = going.order
    going.sealed = [share_secrets(going.memories[0], replace(honest, weights=[0.9, 0.05, 0.05, 0.0, 0.0])).each]
    going.sealed += [share_secrets(memory, honest).each for memory in going.memories[1:]]
    total = np.sum([going.mask(client) for client in range(COUNT)], axis=0, dtype=np.uint64)
    for client in range(COUNT):
        own = RoundSecrets.recall(going.memories[client], "s", "masked")
        add_own_mask(total, bytes.fromhex(own.own), own.context, -1)
    assert not set(total.astype(np.int64).tolist()) & set(np.sum(VALUES, axis=0).tolist())


def test_too_few_shares_or_too_large_a_number_are_not_masked() -> None:
    going = Sum().share()
    with pytest.raises(ConfigError, match="Only 3 clients shared their secrets, and 4 are needed"):
        going.mask(0, silent=(1, 2))
    with pytest.raises(ConfigError, match="passed on 2 shares"):
        mask(going.memories[0], going.secrets(0), Masks("s", ["a", "b"]), VALUES[0])
    with pytest.raises(ConfigError, match="too large for a sum over 5"):
        mask(going.memories[0], going.secrets(0), going.masks(0), np.array([2**62]))


def test_an_answer_is_a_record() -> None:
    memory = RecordMemory()
    content = take_step(memory, ShowKeys("s"), 0)
    assert {key: len(value) for key, value in content.config_records["config"].items()} == {  # type: ignore[arg-type]
        "sealing": 32, "masking": 32, "commitment": 32,
    }  # fmt: skip
    assert memory.aside()
