"""Keys of two, and masks: the same on both sides, other ones for everything else, and by a cipher that others have checked."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from fl_protocol.masks import (
    PIECE,
    SEED_BYTES,
    add_mask,
    add_own_mask,
    add_pair_mask,
    commitment,
    context_of,
    derived,
    new_seed,
    public_key,
    shared_key,
)
from fl_protocol.messages import Peer

SEEDS = [bytes([number]) * SEED_BYTES for number in (1, 2, 3)]
PEERS = [Peer("", public_key(seed).hex(), "") for seed in SEEDS]


def zeros(count: int = 1000) -> np.ndarray:
    return np.zeros(count, dtype="<u8")


def test_two_clients_have_one_key_and_nobody_else_has_it() -> None:
    one = shared_key(SEEDS[0], public_key(SEEDS[1]), b"x")
    assert one == shared_key(SEEDS[1], public_key(SEEDS[0]), b"x")
    others = [shared_key(SEEDS[2], public_key(SEEDS[1]), b"x"), shared_key(SEEDS[0], public_key(SEEDS[1]), b"y")]
    assert one not in others and len(one) == 32
    assert derived(SEEDS[0], b"x") != derived(SEEDS[0], b"y")
    assert len(new_seed()) == SEED_BYTES and new_seed() != new_seed()
    assert commitment(SEEDS[0]) != commitment(SEEDS[1]) and len(bytes.fromhex(commitment(SEEDS[0]))) == 32


@pytest.mark.parametrize("count", [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 7])
def test_a_mask_is_the_key_stream_of_aes_whatever_its_length(count: int) -> None:
    key, total = bytes(range(32)), zeros(count)
    add_mask(total, key)
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(8 * count))
    assert total.tobytes() == stream
    add_mask(total, key, -1)
    assert not total.any()


def test_sums_wrap_round_and_come_back() -> None:
    total = np.array([-1, 5, -(2**62)]).astype("<u8")
    add_mask(total, bytes(32))
    add_mask(total, bytes(32), -1)
    assert total.astype(np.int64).tolist() == [-1, 5, -(2**62)]


def test_masks_of_all_pairs_cancel_and_own_ones_do_not() -> None:
    total = zeros()
    for own in range(3):
        for other in range(3):
            if other != own:
                before = total.copy()
                add_pair_mask(total, SEEDS[own], own, other, PEERS, b"context")
                assert not np.array_equal(before, total)
    assert not total.any()
    add_pair_mask(total, SEEDS[0], 0, 1, PEERS, b"context")
    add_pair_mask(total, SEEDS[1], 1, 0, PEERS, b"another")
    assert total.any(), "masks do not depend on what was told"
    own = zeros()
    add_own_mask(own, SEEDS[0], b"context")
    assert own.any()
    add_own_mask(own, SEEDS[0], b"context", -1)
    assert not own.any()


def test_the_context_holds_every_number_to_the_last_bit() -> None:
    told = ("s", 3, PEERS, [0.1, 0.2, 0.7], [0.1, 0.2, 0.7])
    assert context_of(*told) == context_of(*told) and len(context_of(*told)) == 32
    assert context_of("s", 3, PEERS, [0.1, 0.2, np.nextafter(0.7, 1)], [0.1, 0.2, 0.7]) != context_of(*told)
