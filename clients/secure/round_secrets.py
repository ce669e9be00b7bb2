"""What a client keeps to itself in the course of one masked round: its seeds, what it was told of the others, and how far it got.

It is put aside in the client's memory, as every message may find another process, and forgotten with the last answer of the round. The
stage only goes forward: a client masks one vector and answers one Unmask per session, whatever it is asked.
"""

from __future__ import annotations

import functools
from typing import Literal

from pydantic import BaseModel, ValidationError

from clients.state import Memory
from fl_config.errors import ConfigError
from fl_protocol.masks import context_of, new_seed
from fl_protocol.messages import Peer

Stage = Literal["shown", "shared", "masked"]


class RoundSecrets(BaseModel):
    session: str
    stage: Stage = "shown"
    # Seeds as hexadecimal text: of the key by which others seal, of the key for pairwise masks, and of the own mask.
    sealing: str
    masking: str
    own: str
    # What ShareSecrets told.
    peers: list[Peer] = []
    place: int = 0  # of this client among them
    threshold: int = 0
    weights: list[float] = []
    sizes: list[float] = []
    kept: list[str] = []  # its shares of its own two secrets
    # What Train brought: the others' sealed shares, by place.
    parcels: list[str] = []

    @classmethod
    def fresh(cls, session: str) -> RoundSecrets:
        sealing, masking, own = (new_seed().hex() for _ in range(3))
        return cls(session=session, sealing=sealing, masking=masking, own=own)

    @classmethod
    def recall(cls, memory: Memory, session: str, stage: Stage) -> RoundSecrets:
        """The secrets of this session, which must have got as far as `stage` and no further."""
        text = memory.aside()
        try:
            kept = cls.model_validate_json(text) if text else None
        except ValidationError:
            kept = None
        if kept is None or kept.session != session:
            raise ConfigError("The server goes on with a masked sum that this client takes no part in.")
        if kept.stage != stage:
            raise ConfigError(
                f"The server asks this client twice for one step of a masked sum: it is at {kept.stage!r}, not at {stage!r}."
            )
        return kept

    def keep(self, memory: Memory, stage: Stage) -> None:
        self.stage = stage
        memory.put_aside(self.model_dump_json().encode())

    @property
    def clients(self) -> int:
        """How many agreed on masks; `threshold` of them must be left in the end."""
        return len(self.peers)

    @property
    def weight(self) -> float:
        """p_i, by which this client's update counts; everybody's add up to 1."""
        return self.weights[self.place]

    @property
    def size(self) -> float:
        """n_i / sum n."""
        return self.sizes[self.place]

    @functools.cached_property  # asked for once per other client; all of it is known before it is first asked for
    def context(self) -> bytes:
        return context_of(self.session, self.threshold, self.peers, self.weights, self.sizes)
