"""What both sides of a masked sum compute alike: keys that two clients have in common, and masks stretched from a key.

A seed has 31 random bytes, which Flower's Shamir sharing pads to two blocks instead of three. Keys come of seeds and of X25519 secrets
by HKDF-SHA256, each for one purpose. A mask is the key stream of AES-256 in counter mode: cryptographically strong, the same on every
machine, and 3 ns per number on a processor with AES instructions. Flower's own generator for masks (`pseudo_rand_gen`) is not used: it
folds the seed into 32 bits, which anybody can try out.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from fl_protocol.messages import Peer

SEED_BYTES = 31
PIECE = 2**16  # numbers that are stretched at a time, as many as a cache holds
WORD = np.dtype("<u8")
Words = NDArray[np.uint64]


def counting(weights: Iterable[float]) -> int:
    """How many clients a weighted sum tells of; of fewer than `FEWEST` it would tell what one of them sent."""
    return sum(weight > 0 for weight in weights)


def new_seed() -> bytes:
    return secrets.token_bytes(SEED_BYTES)


def derived(secret: bytes, purpose: bytes) -> bytes:
    """A key of 32 bytes for one purpose."""
    return HKDF(SHA256(), 32, salt=None, info=b"fedloom " + purpose).derive(secret)


def private_key(seed: bytes) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(derived(seed, b"private key"))


def public_key(seed: bytes) -> bytes:
    return private_key(seed).public_key().public_bytes_raw()


def shared_key(seed: bytes, other: bytes, purpose: bytes) -> bytes:
    """What the owner of the seed and the owner of the other public key can compute, and nobody else."""
    return derived(private_key(seed).exchange(X25519PublicKey.from_public_bytes(other)), purpose)


def commitment(seed: bytes) -> str:
    """Binds the owner to the seed and says nothing of it."""
    return hashlib.sha256(b"fedloom commitment" + seed).hexdigest()


def add_mask(total: Words, key: bytes, sign: int = 1) -> None:
    """Add the mask of this key to the words, or take it away (sign -1), modulo 2^64."""
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    zeros = bytes(PIECE * WORD.itemsize)
    step = np.add if sign > 0 else np.subtract
    for start in range(0, len(total), PIECE):
        piece = total[start : start + PIECE]
        mask = np.frombuffer(stream.update(zeros[: len(piece) * WORD.itemsize]), dtype=WORD)
        step(piece, mask, out=piece)


def add_pair_mask(total: Words, seed: bytes, own: int, other: int, peers: list[Peer], context: bytes) -> None:
    """Add what the client at place `own`, the seed's owner, adds for the one at `other`: the two of them cancel."""
    key = shared_key(seed, bytes.fromhex(peers[other].masking), b"pair mask" + context)
    add_mask(total, key, 1 if own < other else -1)


def add_own_mask(total: Words, seed: bytes, context: bytes, sign: int = 1) -> None:
    add_mask(total, derived(seed, b"own mask" + context), sign)


def context_of(session: str, threshold: int, peers: list[Peer], weights: list[float], sizes: list[float]) -> bytes:
    """What everybody was told of the round. It goes into every mask: clients who were told different things add masks that stay."""
    told = repr((session, threshold, [(one.sealing, one.masking, one.commitment) for one in peers], weights, sizes))
    return hashlib.sha256(told.encode()).digest()
