"""After a masked round's training: the masks are taken off the sum by what enough survivors reveal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fl_protocol.flower.secret_sharing import secret_of, share_bytes
from fl_protocol.masks import SEED_BYTES, Words, add_own_mask, add_pair_mask, commitment, public_key
from fl_protocol.messages import Setup, Unmask
from fl_protocol.secure_replies import ByPlace
from fl_protocol.types import ClientId
from fl_strategies.round.secure.agreement import Agreement, Line, NoSum, check_counting

SHARE_BYTES = share_bytes(SEED_BYTES)


def unmask(total: Words, agreed: Agreement, survivors: Sequence[ClientId], line: Line, setup: Setup) -> int:
    """Take the masks off the survivors' sum, in place; says how many revealed their shares. `NoSum` where too few do."""
    places, threshold = [agreed.place(client) for client in survivors], agreed.threshold
    if len(places) < threshold:
        raise NoSum(f"{len(places)} masked updates came, and {threshold} are needed")
    check_counting(agreed.weights[place] for place in places)
    order = Unmask(agreed.session, places, setup)
    told = line.ask(
        dict.fromkeys(survivors, order),
        lambda reply: ByPlace.read(reply, len(agreed.clients), SHARE_BYTES),
        enough=threshold,
    )
    if len(told) < threshold:
        reasons = "; ".join(sorted({line.silent[one] for one in survivors if one in line.silent})[:3])
        raise NoSum(f"{len(told)} clients helped to unmask the sum, and {threshold} are needed ({reasons})")
    shares = {agreed.place(client): answer.each for client, answer in told.items()}
    context = agreed.context
    for place in agreed.parcels:
        left = place in places
        seed = _put_together(shares, place, agreed, commitment if left else _masking_key)
        if left:
            add_own_mask(total, seed, context, -1)
            continue
        for other in places:  # what the lost client would have added, and what each survivor added for it, cancel
            add_pair_mask(total, seed, place, other, agreed.peers, context)
    return len(told)


def _masking_key(seed: bytes) -> str:
    return public_key(seed).hex()


def _put_together(
    shares: Mapping[int, list[bytes]], place: int, agreed: Agreement, shown: Callable[[bytes], str]
) -> bytes:
    """A client's seed out of the others' shares, checked against what it showed of that seed before anybody trained."""
    held = [
        each[place]
        for holder, each in shares.items()
        if len(each[place]) == SHARE_BYTES and int.from_bytes(each[place][:4], "little") == holder + 1
    ]
    seed = secret_of(held[: agreed.threshold]) if len(held) >= agreed.threshold else b""
    peer = agreed.peers[place]
    if not seed or shown(seed) != (peer.commitment if shown is commitment else peer.masking):
        raise NoSum(f"the shares of client {agreed.clients[place]}'s secret do not fit together")
    return seed
