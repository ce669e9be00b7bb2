"""A client's half of a masked sum of updates that survives dropouts.

Bonawitz et al., "Practical Secure Aggregation for Privacy-Preserving Machine Learning", CCS 2017, section 4, for a server that is
curious and follows the protocol. Client i has a seed s_i, whose X25519 key gives it a mask m_ij = m_ji in common with every other
client j, and a seed b_i for a mask of its own. It sends
    y_i = x_i + own(b_i) + sum_{j > i} m_ij - sum_{j < i} m_ij   (mod 2^64).
Before that, every other client got one share of s_i and one of b_i (Shamir, t of n), sealed so that the server cannot read them. When
the y_i of the survivors are added up, each survivor reveals its shares of b_j for survivors j, and of s_j for those that dropped out:
with t answers the server takes the masks off the sum. Never both for one j, which would bare x_j if y_j came late after all; t is more
than half of n, so that the server cannot have one half of the clients reveal the one and the other half the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flwr.app import RecordDict
from numpy.typing import NDArray

from clients.secure.contribution import contribution
from clients.secure.round_secrets import RoundSecrets
from clients.state import Memory
from fl_config.errors import ConfigError
from fl_protocol.fixed_point import FINE, to_fixed
from fl_protocol.flower.secret_sharing import opened, sealed, shares_of
from fl_protocol.masks import WORD, Words, add_own_mask, add_pair_mask, commitment, counting, public_key, shared_key
from fl_protocol.messages import FEWEST, Masks, Peer, ShareSecrets, ShowKeys, Train, Unmask
from fl_protocol.replies import Trained
from fl_protocol.secure_replies import ByPlace, Keys, Masked
from fl_protocol.types import ClientId


def take_step(memory: Memory, order: Any, client: ClientId) -> RecordDict:
    """The answer to one of the three messages that a round has more; a sentence for any other."""
    match order:
        case ShowKeys():
            return show_keys(memory, order).pack()
        case ShareSecrets():
            return share_secrets(memory, order).pack()
        case Unmask():
            return reveal(memory, order).pack()
    raise ConfigError(f"Client {client} was sent {type(order).__name__}, which it cannot answer.")


def train_masked(
    memory: Memory, order: Train, train: Callable[[Train], Trained], parameters: Sequence[str]
) -> RecordDict:
    """Train, and send what came of it under masks; without masks in the order, as it is."""
    if order.masks is None:
        return train(order).pack()
    agreed = RoundSecrets.recall(
        memory, order.masks.session, "shared"
    )  # before the work, so that a wrong order costs none
    values = contribution(order, train(order), parameters, agreed)
    return Masked(mask(memory, agreed, order.masks, to_fixed(values, FINE))).pack()


# The four steps


def show_keys(memory: Memory, order: ShowKeys) -> Keys:
    """Fresh secrets; those of an older session are forgotten."""
    fresh = RoundSecrets.fresh(order.session)
    fresh.keep(memory, "shown")
    return Keys(_shown(fresh))


def share_secrets(memory: Memory, order: ShareSecrets) -> ByPlace:
    own = RoundSecrets.recall(memory, order.session, "shown")
    me, count = _shown(own), len(order.peers)
    keys = {key for peer in order.peers for key in (peer.sealing, peer.masking)}
    if order.peers.count(me) != 1 or count < FEWEST or len(keys) != 2 * count:
        raise ConfigError(f"A masked sum needs {FEWEST} or more different clients, this one among them.")
    if not count / 2 < order.threshold <= count or order.threshold < FEWEST:
        raise ConfigError(
            f"A masked sum over {count} clients needs a threshold of {FEWEST} or more, above half of them, but the server says "
            f"{order.threshold}."
        )
    if not len(order.weights) == len(order.sizes) == count or counting(order.weights) < FEWEST:
        raise ConfigError(f"A masked sum needs a weight for every client, above 0 for {FEWEST} or more of them.")
    own.peers, own.threshold, own.weights, own.sizes = order.peers, order.threshold, order.weights, order.sizes
    own.place = order.peers.index(me)
    shares = [shares_of(bytes.fromhex(seed), own.threshold, count) for seed in (own.own, own.masking)]
    pairs = list(zip(*shares, strict=True))
    own.kept = [share.hex() for share in pairs[own.place]]
    own.keep(memory, "shared")
    others = {place: both for place, both in enumerate(pairs) if place != own.place}
    parcels = {place: sealed(_key(own, place), own.place, place, both) for place, both in others.items()}
    return ByPlace([parcels.get(place, b"") for place in range(count)])


def mask(memory: Memory, own: RoundSecrets, order: Masks, values: NDArray[np.int64]) -> Words:
    """y_i. That it was made is noted first: two vectors under the same masks would tell their difference."""
    if len(order.parcels) != own.clients:
        raise ConfigError(
            f"The server passed on {len(order.parcels)} shares, but {own.clients} clients agreed on masks."
        )
    others = [place for place, parcel in enumerate(order.parcels) if parcel and place != own.place]
    if len(others) + 1 < own.threshold:
        raise ConfigError(f"Only {len(others) + 1} clients shared their secrets, and {own.threshold} are needed.")
    if len(values) and int(np.abs(values).max()) > (2**63 - 1) // own.clients:
        raise ConfigError(
            f"A number of this client is too large for a sum over {own.clients} clients: lower --lr, or set --clip."
        )
    own.parcels = order.parcels
    own.keep(memory, "masked")
    total: Words = values.astype(WORD)
    add_own_mask(total, bytes.fromhex(own.own), own.context)
    for place in others:
        add_pair_mask(total, bytes.fromhex(own.masking), own.place, place, own.peers, own.context)
    return total


def reveal(memory: Memory, order: Unmask) -> ByPlace:
    """One share per client that shared: of its own mask's seed if it survived, else of its pairwise masks' seed."""
    own = RoundSecrets.recall(memory, order.session, "masked")
    sharing = {place for place, parcel in enumerate(own.parcels) if parcel} | {own.place}
    survivors = set(order.survivors)
    memory.put_aside(b"")  # whatever comes next: this session has had its one answer
    if len(survivors) != len(order.survivors) or not survivors <= sharing or own.place not in survivors:
        raise ConfigError("The server names survivors of a masked sum that took no part in it, or not this client.")
    if len(survivors) < own.threshold:
        raise ConfigError(
            f"The server would unmask a sum over {len(survivors)} clients, and {own.threshold} are needed: nothing is revealed."
        )
    if (count := counting(own.weights[place] for place in survivors)) < FEWEST:
        raise ConfigError(
            f"Of the clients that are left, {count} have a weight above 0, and {FEWEST} are needed: nothing is revealed."
        )
    shares = [b""] * own.clients
    for place in sharing:
        of_own, of_pairs = _held(own, place)
        shares[place] = of_own if place in survivors else of_pairs
    return ByPlace(shares)


def _held(own: RoundSecrets, place: int) -> tuple[bytes, bytes]:
    """The shares that the client at this place made for this one; none where the parcel was spoilt."""
    if place == own.place:
        return bytes.fromhex(own.kept[0]), bytes.fromhex(own.kept[1])
    return opened(_key(own, place), place, own.place, own.parcels[place].encode())


def _shown(own: RoundSecrets) -> Peer:
    sealing, masking = (public_key(bytes.fromhex(seed)).hex() for seed in (own.sealing, own.masking))
    return Peer(sealing, masking, commitment(bytes.fromhex(own.own)))


def _key(own: RoundSecrets, place: int) -> bytes:
    """The key of what passes between this client and the one at `place`."""
    return shared_key(bytes.fromhex(own.sealing), bytes.fromhex(own.peers[place].sealing), b"seal" + own.context)
