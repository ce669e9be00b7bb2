"""How a dataclass becomes the content of a Flower message and comes back, for every message and reply alike.

Each field says by its type where it travels: an ArrayRecord as the record of its name, a dict of them as records with the field's name
before a colon, `LocalSettings` as plain keys of the configuration (so that Flower's own strategies can set them), `round` as Flower's
`server-round`, and all other fields together as one JSON text, checked when it is read.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from flwr.app import ArrayRecord, ConfigRecord, RecordDict
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import to_json

from fl_config.errors import ConfigError, nearest
from fl_protocol.flower import record_of
from fl_protocol.settings import LocalSettings

log = logging.getLogger("fedloom")
VERSION = 2  # of the messages; both sides must speak the same
CONFIG, ORDER, ROUND = "config", "fedloom", "server-round"
Kind = TypeVar("Kind")
Body = TypeVar("Body", bound=BaseModel)
_told: set[str] = set()  # keys that nothing reads, each told once


@dataclasses.dataclass(frozen=True)
class _Plan:
    """Where the fields of one dataclass travel."""

    records: tuple[str, ...]
    groups: tuple[str, ...]
    settings: tuple[str, ...]
    numbered: bool  # has a round
    body: type[BaseModel]


_plans: dict[type, _Plan] = {}


def _plan(kind: type) -> _Plan:
    if kind not in _plans:
        _plans[kind] = _made_plan(kind)
    return _plans[kind]


def _made_plan(kind: type) -> _Plan:
    hints = typing.get_type_hints(kind)
    records, groups, settings, body = [], [], [], {}
    for one in dataclasses.fields(kind):
        hint = hints[one.name]
        if hint is ArrayRecord:
            records.append(one.name)
        elif hint == dict[str, ArrayRecord]:
            groups.append(one.name)
        elif hint is LocalSettings:
            settings.append(one.name)
        elif one.name != "round":
            default: Any = ... if one.default is dataclasses.MISSING else one.default
            if one.default_factory is not dataclasses.MISSING:
                default = one.default_factory()
            body[one.name] = (hint, default)
    fields: dict[str, Any] = {"version": (int, ...), "kind": (str, ...), **body}
    made = create_model(kind.__name__, __config__=ConfigDict(extra="forbid"), **fields)
    return _Plan(tuple(records), tuple(groups), tuple(settings), "round" in hints, made)


def pack(message: Any, beside: Mapping[str, Any] | None = None) -> RecordDict:
    """The content of a message or reply. `beside` are keys for others than our clients, such as Flower's mods."""
    plan = _plan(type(message))
    order = {name: getattr(message, name) for name in plan.body.model_fields if name not in ("version", "kind")}
    config: dict[str, Any] = dict(beside or {})
    for name in plan.settings:
        config |= as_keys(getattr(message, name))
    if plan.numbered:
        config[ROUND] = message.round
    config[ORDER] = to_json({"version": VERSION, "kind": type(message).__name__, **order}).decode()
    content: dict[str, Any] = {name: record for name in plan.records if len(record := getattr(message, name))}
    for name in plan.groups:
        content |= {f"{name}:{key}": record for key, record in getattr(message, name).items()}
    return record_of(RecordDict, {**content, CONFIG: record_of(ConfigRecord, config)})


def unpack(kind: type[Kind], content: RecordDict, defaults: LocalSettings | None = None) -> Kind:
    """The message of this kind; without our order (a foreign strategy sent it) every field has its default.

    `defaults` are the client's own settings, which those of the message override.
    """
    plan, config = _plan(kind), configuration(content)
    values: dict[str, Any] = {}
    if ORDER in config:
        body = checked(plan.body, str(config[ORDER]), f"of the kind {kind.__name__!r}")
        values = {name: getattr(body, name) for name in plan.body.model_fields if name not in ("version", "kind")}
    for name in plan.records:
        record = content.get(name)
        values[name] = record if isinstance(record, ArrayRecord) else ArrayRecord()
    for name in plan.groups:
        found = [(key, record) for key, record in content.items() if key.startswith(f"{name}:")]
        values[name] = {key.removeprefix(f"{name}:"): each for key, each in found if isinstance(each, ArrayRecord)}
    for name in plan.settings:
        values[name] = overridden(defaults or LocalSettings(), config)
        tell_unread(config, "The message's configuration")
    if plan.numbered:
        values["round"] = int(config.get(ROUND, 1))
    return kind(**values)


def checked(kind: type[Body], text: str, what: str) -> Body:
    """The body of a message from its JSON text; one sentence for the first thing that is wrong with it."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors()[0]
    key = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        raise ConfigError(f"A message {what} has the key {key!r}, which this version of FedLoom does not know.")
    if problem["type"] == "missing":
        raise ConfigError(f"A message {what} lacks the key {key!r}.")
    raise ConfigError(f"A message {what} has a wrong {key or 'text'!r}: {problem['msg']}.")


def kind_of(content: RecordDict) -> str:
    """The kind that our order names, checked for its version; empty where there is no order of ours."""
    config = configuration(content)
    if ORDER not in config:
        return ""
    head = read_head(str(config[ORDER]))
    if head.version != VERSION:
        raise ConfigError(
            f"The server speaks version {head.version} of the protocol, this client version {VERSION}: install the same "
            "FedLoom on both."
        )
    return head.kind


class Head(BaseModel):
    """What every order says; `setup` is None where it says nothing of the client that it is for."""

    version: int = 1
    kind: str = ""
    setup: Any = None


@functools.lru_cache(maxsize=4)
def read_head(order: str) -> Head:
    """Asked for twice for every message: once to build the client, once to read the message."""
    return checked(Head, order, "of any kind")


def configuration(content: RecordDict) -> dict[str, Any]:
    record = content.get(CONFIG)
    return dict(record.items()) if isinstance(record, ConfigRecord) else {}  # dict(record) asks for key after key


# Settings as plain keys


def as_keys(settings: LocalSettings) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in vars(settings).items()}


def overridden(defaults: LocalSettings, config: Mapping[str, Any], first_rate: bool = True) -> LocalSettings:
    """Settings with those that the configuration names replaced; `first_rate`: a learning rate alone is the undecayed one too."""
    known = {name: config[key] for name in vars(defaults) if (key := name.replace("_", "-")) in config}
    if "lr" in known and first_rate:
        known.setdefault("initial_lr", known["lr"])
    return dataclasses.replace(defaults, **known)


READ = {*as_keys(LocalSettings()), ORDER, ROUND}


def tell_unread(config: Mapping[str, Any], what: str) -> None:
    """Say once which keys of a configuration nothing reads; a misspelt one would otherwise be ignored."""
    for key in sorted(config.keys() - READ - _told):
        _told.add(key)
        log.warning("%s has the key %r, which nothing here reads%s", what, key, nearest(key, READ - {ORDER, ROUND}))
