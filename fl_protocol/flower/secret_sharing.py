"""Flower's cryptographic pieces of SecAgg+, as far as they are sound: shares of a secret, and parcels that only one client can open.

| piece | what it is | what was looked at |
|---|---|---|
| `create_shares`, `combine_shares` | Shamir over GF(2^128) by PyCryptodome, 16 bytes at a time, padded | coefficients come from the system's random numbers; one share too few tells nothing; a wrong share gives another secret and not always an error, so whoever puts one together checks it |
| `encrypt`, `decrypt` | Fernet: AES-128 in CBC mode with HMAC-SHA256 | a changed parcel is refused; it tells the second in which it was sealed |
| `share_keys_plaintext_concat` | sender, addressee and both shares as one text | names both ends, so that parcels cannot be swapped |

Not used: `pseudo_rand_gen`, whose masks come of 32 bits of the seed and NumPy's Mersenne twister, and `quantize`, whose rounding is
random and not seeded (fl_protocol/{masks,fixed_point}.py instead); and `generate_shared_key`, which has no purpose in its key derivation.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from cryptography.fernet import InvalidToken
from flwr.common.secure_aggregation.crypto.shamir import combine_shares, create_shares
from flwr.common.secure_aggregation.crypto.symmetric_encryption import decrypt, encrypt
from flwr.common.secure_aggregation.secaggplus_utils import share_keys_plaintext_concat, share_keys_plaintext_separate

BLOCK = 16


def share_bytes(secret: int) -> int:
    """The length of a share of a secret of so many bytes: its number, and the padded secret's blocks."""
    return 4 + BLOCK * (secret // BLOCK + 1)


def shares_of(secret: bytes, threshold: int, count: int) -> list[bytes]:
    """One share for each of `count` holders; any `threshold` of them make the secret again. Share i begins with the number i + 1."""
    return create_shares(secret, threshold, count)


def secret_of(shares: Sequence[bytes]) -> bytes:
    """The secret that these shares make, or nothing where they make none. It must be checked: a wrong share may make another one."""
    try:
        return combine_shares(list(shares))
    except ValueError:
        return b""


def sealed(key: bytes, source: int, target: int, shares: tuple[bytes, bytes]) -> bytes:
    """A parcel with two shares, which whoever has the 32 bytes of `key` can open."""
    return encrypt(base64.urlsafe_b64encode(key), share_keys_plaintext_concat(source, target, *shares))


def opened(key: bytes, source: int, target: int, parcel: bytes) -> tuple[bytes, bytes]:
    """The two shares of a parcel; empty ones where it was changed, or is from or for somebody else."""
    try:
        sender, addressee, *shares = share_keys_plaintext_separate(decrypt(base64.urlsafe_b64encode(key), parcel))
    except InvalidToken:
        return b"", b""
    return (shares[0], shares[1]) if (sender, addressee) == (source, target) else (b"", b"")
