"""A client's half of a secure sum: its whole numbers under masks that cancel in the sum over all clients.

Bonawitz et al., "Practical Secure Aggregation for Privacy-Preserving Machine Learning", CCS 2017, section 4: clients i and j agree on
a secret (X25519) that only they know, stretch it to a vector m_ij of 64-bit words, and
    y_i = x_i + sum_{j: k_i < k_j} m_ij - sum_{j: k_i > k_j} m_ij   (mod 2^64),   so that   sum_i y_i = sum_i x_i,
with k_i the public keys. The server sees y_i, which is uniformly random to it. Without the paper's recovery from dropouts: if one
client is missing the sum is started anew. It protects against a server that follows the protocol and is curious; a server that makes
up clients of its own can unmask one, as in the paper without signed keys.
A host keeps one secret file; a key is derived from it for each sum, so that nothing has to be remembered between messages.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from numpy.typing import NDArray

from fl_config.errors import ConfigError
from fl_protocol.messages import FEWEST


def host_secret(path: Path) -> bytes:
    """The 32 bytes of a host's secret file, made on first use; only the owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(os.urandom(32))
        try:
            os.link(draft, path)  # fails if another process was faster, and then its file counts
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_bytes()


def key_for(secret: bytes, session: str) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(hmac.digest(secret, f"secure sum {session}".encode(), "sha256"))


def public_key(secret: bytes, session: str) -> bytes:
    return key_for(secret, session).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def masked(values: NDArray[np.int64], secret: bytes, session: str, keys: Sequence[bytes]) -> bytes:
    """y_i as little-endian 64-bit words; `keys` are everybody's public keys, this client's among them."""
    own = public_key(secret, session)
    if own not in keys or len(set(keys)) < max(FEWEST, len(keys)):
        raise ConfigError(f"A secure sum needs {FEWEST} or more different clients, this one among them.")
    if len(values) and int(np.abs(values).max()) > (2**63 - 1) // len(keys):
        raise ConfigError(f"A number of this client is too large for a secure sum over {len(keys)} clients.")
    private = key_for(secret, session)
    everyone = hashlib.sha256(b"".join(sorted(keys))).digest()  # other clients, other masks
    total = np.asarray(values).astype("<u8")
    for other in keys:
        if other != own:
            shared = private.exchange(X25519PublicKey.from_public_bytes(other))
            stream = hashlib.shake_256(b"fedloom secure sum" + session.encode() + everyone + shared)
            mask = np.frombuffer(stream.digest(8 * len(total)), dtype="<u8")
            total = total + mask if own < other else total - mask
    return total.tobytes()
