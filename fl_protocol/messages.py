"""What the server says to a client: one dataclass per message. `codec` packs and unpacks them; nobody else knows the keys.

    Introduce   who are you, how many examples have you, and the numbers that the recipe asks for   (before round 1)
    MaskedSum   your part of a sum of which the server learns the total only           (before round 1, or with a round's model)
    Probe       train the initial model that you build yourself; only the head's update is wanted    (before round 1)
    Train       train from these arrays                                                            (every round)
    Evaluate    how good is this model on your held-out data                                       (where clients are scored)

Where updates are summed under masks (docs/privacy.md), a round has three messages more:

    ShowKeys      make fresh secrets for this round and show your public keys                      (before Train)
    ShareSecrets  these are everybody's keys: send each a share of your secrets that only it can read   (before Train)
    Unmask        these clients' vectors came: reveal what takes off the masks of the sum           (after Train)

Everything that a client must know of the method arrives in them; from its own host it takes its data, its device and its memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flwr.app import ArrayRecord, RecordDict
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from fl_config.errors import ConfigError
from fl_protocol.codec import ORDER, checked, configuration, kind_of, read_head, unpack
from fl_protocol.settings import LocalSettings

FEWEST = 3  # clients in a secure sum; with two, each would know the other's numbers from the sum
Named = tuple[str, dict[str, Any]]  # a part by name, and its parameters or arguments


@dataclass(frozen=True)
class Setup:
    """What a client is built with, before it can do anything."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    run: str = ""  # the key of the run, by which a host files what it remembers; the same after a resume
    projection: int = 0  # width of the projection head that the method asks for; 0 is none
    held_out: float = 0.0  # share of the client's training data that is kept for scoring


@dataclass
class Introduce:
    setup: Setup = field(default_factory=Setup)
    asks: dict[str, dict[str, Any]] = field(default_factory=dict)  # numbers by name, with the arguments to compute them


@dataclass
class MaskedSum:
    of: str  # the name of the vector to be summed
    session: str  # of this sum; other sessions, other masks
    keys: list[str] = field(
        default_factory=list
    )  # everybody's public keys; none at first, when the client sends its own
    setup: Setup = field(default_factory=Setup)
    arguments: dict[str, Any] = field(default_factory=dict)  # with which the vector is computed
    arrays: ArrayRecord = field(default_factory=ArrayRecord)  # the model that it is computed with, if one is needed


@dataclass(frozen=True)
class Peer:
    """A client of a round as the others know it; all as hexadecimal text."""

    sealing: str  # public key, for what only this client may read
    masking: str  # public key, for the masks that it has in common with each other client
    commitment: str  # SHA-256 of the seed of the mask that is its own


@dataclass
class ShowKeys:
    session: str  # of this round; other sessions, other secrets
    setup: Setup = field(default_factory=Setup)


@dataclass
class ShareSecrets:
    session: str
    peers: list[Peer]  # everybody who showed keys; a client is known by its place here
    threshold: int  # shares with which a secret is put together
    weights: list[float]  # p_i, by which updates are summed
    sizes: list[float]  # n_i / sum n, by which training losses are
    setup: Setup = field(default_factory=Setup)


@dataclass
class Masks:
    """What a client must know to mask what it trained."""

    session: str
    parcels: list[str]  # the shares that each other client sealed for this one, by place; empty where one sent none
    numbers: list[str] = field(default_factory=list)  # what is summed beside the update, by name


@dataclass(frozen=True)
class NoiseShare:
    """A client's share of the noise on a sum that nobody sees without it."""

    clip: float  # the norm that an update is clipped to
    multiplier: float  # the deviation of the whole noise over what one client can change
    seed: int | None = None  # of a simulation's noise; without it noise is of the client's system


@dataclass
class Unmask:
    session: str
    survivors: list[int]  # places of the clients whose vectors are in the sum
    setup: Setup = field(default_factory=Setup)


@dataclass
class Probe:
    settings: LocalSettings
    setup: Setup = field(default_factory=Setup)
    round: int = 0


@dataclass
class Train:
    arrays: ArrayRecord
    settings: LocalSettings
    round: int = 1
    setup: Setup = field(default_factory=Setup)
    objectives: list[Named] = field(default_factory=list)
    optimizer: Named = ("sgd", {})
    topology: Named = ("shared", {})
    extra: ArrayRecord = field(default_factory=ArrayRecord)  # the server's vectors for the method
    groups: dict[str, ArrayRecord] = field(default_factory=dict)  # what the topology sends beside the model
    scalars: dict[str, float] = field(default_factory=dict)  # the server's numbers for this client
    report: list[str] = field(default_factory=list)  # numbers to send with the reply
    acked_round: int = 0  # the client's last round that the server used: what it remembers of that one counts
    saved_round: int = 0  # the one in the server's last checkpoint, which must not be forgotten yet
    masks: Masks | None = None  # under which the reply must be; none sends it as it is
    noise: NoiseShare | None = None  # what is done to the update before it is masked


@dataclass
class Evaluate:
    arrays: ArrayRecord
    settings: LocalSettings
    round: int = 1
    setup: Setup = field(default_factory=Setup)
    topology: Named = ("shared", {})
    acked_round: int = 0
    personal_epochs: int = 0  # of fine-tuning before the score
    metrics: list[str] = field(default_factory=list)  # what is scored; none means what the task usually shows


KINDS = (Introduce, MaskedSum, Probe, Train, Evaluate, ShowKeys, ShareSecrets, Unmask)
MESSAGES: dict[str, type[Any]] = {kind.__name__: kind for kind in KINDS}
FOREIGN = {
    "query": Introduce,
    "train": Train,
    "evaluate": Evaluate,
}  # what a message without our order means, by Flower's type


def read_message(content: RecordDict, flower_type: str, defaults: LocalSettings) -> Any:
    """The message in this content. `flower_type` is query, train or evaluate; `defaults` are the client's own settings."""
    name = kind_of(content)
    if name and name not in MESSAGES:
        raise ConfigError(f"The server sent a message of the kind {name!r}, which this client does not know.")
    return unpack(MESSAGES[name] if name else FOREIGN[flower_type], content, defaults)


def setup_in(content: RecordDict) -> Setup | None:
    """What a message says of the client that it is for, which must be known before that client is built; None if it says nothing."""
    kind_of(content)  # refuses another version
    order = configuration(content).get(ORDER)
    return None if order is None else _setup_of(str(order))


def _setup_of(order: str) -> Setup:
    told = read_head(order).setup
    try:
        return Setup() if told is None else _SETUP.validate_python(told)
    except ValidationError:
        return checked(_WithSetup, order, "of any kind").setup  # says what is wrong


class _WithSetup(BaseModel):
    setup: Setup = Setup()


_SETUP = TypeAdapter(Setup)
