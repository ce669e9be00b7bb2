"""The masks of a secure sum, computed a second time here from the formula: every host must make the same ones, and no two sums share any."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from clients.secure.masking import masked, public_key

SECRETS = [bytes([number]) * 32 for number in range(1, 5)]
SESSION = "0123456789abcdef0123456789abcdef"
VALUES = np.array([5, 0, 2**40, 1], dtype=np.int64)


def words(content: bytes) -> np.ndarray:
    return np.frombuffer(content, dtype="<u8")


def keys_of(session: str) -> list[bytes]:
    return [public_key(secret, session) for secret in SECRETS]


def by_hand(own: int, session: str) -> np.ndarray:
    """y_i = x_i + sum_{j: k_i < k_j} m_ij - sum_{j: k_i > k_j} m_ij (mod 2^64), in Python's whole numbers."""
    private = [
        X25519PrivateKey.from_private_bytes(hmac.new(secret, f"secure sum {session}".encode(), "sha256").digest())
        for secret in SECRETS
    ]
    public = [key.public_key().public_bytes_raw() for key in private]
    everyone = hashlib.sha256(b"".join(sorted(public))).digest()
    total = [int(value) for value in VALUES]
    for other, key in enumerate(private):
        if other != own:
            shared = private[own].exchange(key.public_key())
            stream = hashlib.shake_256(b"fedloom secure sum" + session.encode() + everyone + shared)
            stretched = stream.digest(8 * len(total))
            sign = 1 if public[own] < public[other] else -1
            for place in range(len(total)):
                mask = int.from_bytes(stretched[8 * place : 8 * place + 8], "little")
                total[place] = (total[place] + sign * mask) % 2**64
    return np.array(total, dtype=np.uint64)


@pytest.mark.parametrize("own", range(4))
def test_every_masked_word_is_the_formulas(own: int) -> None:
    assert words(masked(VALUES, SECRETS[own], SESSION, keys_of(SESSION))).tolist() == by_hand(own, SESSION).tolist()


def test_masks_cancel_and_their_order_does_not_matter() -> None:
    keys = keys_of(SESSION)
    parts = [words(masked(VALUES + number, secret, SESSION, keys)) for number, secret in enumerate(SECRETS)]
    assert np.sum(parts, axis=0, dtype=np.uint64).tolist() == [int(4 * value + 6) for value in VALUES]
    turned = masked(VALUES, SECRETS[0], SESSION, keys[::-1])
    assert turned == masked(VALUES, SECRETS[0], SESSION, keys)


@pytest.mark.parametrize("place", range(len(SESSION)))
def test_every_character_of_the_session_makes_other_keys_and_other_masks(place: int) -> None:
    """Two sums with the same masks would show the server the difference of a client's counts."""
    other = SESSION[:place] + "x" + SESSION[place + 1 :]
    assert not set(keys_of(other)) & set(keys_of(SESSION))
    first, second = (words(masked(VALUES, SECRETS[0], session, keys_of(session))) for session in (SESSION, other))
    assert not (first == second).any()
