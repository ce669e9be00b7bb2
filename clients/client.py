"""A federated client: a Flower `NumPyClient` that answers the server's messages with the one training loop.

Everything about the method arrives with the message (objectives, parameters, the round's numbers, the server's extra arrays), so that
the same client serves every strategy, also Flower's own: without our part of the configuration it trains plain SGD.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.client import NumPyClient
from numpy.typing import NDArray
from torch import nn

from clients import masking, personal
from clients.effective_steps import effective_steps
from clients.objectives import build_objectives, build_optimizer
from clients.objectives.base import LocalRound
from clients.state import Memory, RecordMemory
from clients.training import FrozenModels, train
from fl_config.errors import ConfigError
from fl_data import Augment, Samples
from fl_data.discrepancy import discrepancy
from fl_models import Model, wrap
from fl_models.flat import FlatModel, buffers, load_buffers, shapes, state_to_vector, vector_to_state
from fl_protocol.arrays import read_array
from fl_protocol.settings import LocalSettings
from fl_tasks.classification import evaluate

log = logging.getLogger("fedloom")
ARRAYS, CONFIG, EXTRA, METRICS = "arrays", "config", "extra", "metrics"
HEAD = "head-"  # and the number of a cluster: the record of that cluster's part of the model
METHOD = "fedloom"  # key of our JSON in the configuration record
SECURE_SUM = "secure_sum"  # key in it of a query that takes part in a secure sum
CLASS_NAMES = "class-names"  # key of them in the answer to a query
Arrays = dict[str, NDArray[Any]]


def names_of_classes(names: Sequence[str]) -> str:
    """Class names as they are compared; empty where they are only numbers, which say nothing."""
    return json.dumps(list(names)) if any(not name.isdigit() for name in names) else ""


@dataclass
class Task:
    """A training message, unpacked."""

    arrays: Arrays
    settings: LocalSettings
    round: int = 1
    objectives: Sequence[tuple[str, dict[str, Any]]] = ()
    optimizer: tuple[str, dict[str, Any]] = ("sgd", {})
    extra: Arrays = field(default_factory=dict)
    scalars: dict[str, float] = field(default_factory=dict)
    report: Sequence[str] = ()
    acked_round: int = 0
    saved_round: int = 0
    topology: str | None = None
    personal_epochs: int = 0
    probe: bool = False  # only measure, from the initial model; no arrays come
    cluster: int = 0  # the client's own, where there are clusters
    head: Sequence[str] = ()  # names of the arrays that every cluster has of its own
    heads: dict[int, Arrays] = field(default_factory=dict)  # those of the clusters to train beside the model's own


@dataclass
class Reply:
    arrays: Arrays
    metrics: dict[str, float]
    extra: Arrays = field(default_factory=dict)
    heads: dict[int, Arrays] = field(default_factory=dict)


def task_settings(defaults: LocalSettings, config: Mapping[str, Any]) -> LocalSettings:
    """The client's own settings, overridden by those of the message."""
    known = {
        name: config[key] for name in LocalSettings.__dataclass_fields__ if (key := name.replace("_", "-")) in config
    }
    if "lr" in known:
        known.setdefault("initial_lr", known["lr"])
    return replace(defaults, **known)


class LocalClient(NumPyClient):
    """One client and its data. `model` may be any nn.Module; ours know their body and head, others are wrapped.

    `initial` makes the run's seeded initial model, for servers that do not send it (FedCUAU's first stage); without it the model is
    taken as it was given. `secret` gives the host's secret, for secure sums. `class_names` are told to the server, whose order of classes must
    be the same.
    """

    def __init__(
        self,
        model: nn.Module | FlatModel,
        data: Samples,
        num_classes: int,
        *,
        client_id: int | str = 0,
        held_out: Samples | None = None,
        memory: Memory | None = None,
        settings: LocalSettings | None = None,
        initial: Callable[[], Mapping[str, NDArray[Any]]] | None = None,
        secret: Callable[[], bytes] | None = None,
        class_names: Sequence[str] = (),
    ) -> None:
        if data.y is None:
            raise ConfigError(f"Client {client_id} has no labels to train on.")
        if isinstance(model, FlatModel):
            self.flat = model
        else:
            self.flat = FlatModel(model if isinstance(model, Model) else wrap(model))
        self.data, self.held_out, self.num_classes, self.client_id = data, held_out, num_classes, client_id
        self.memory = RecordMemory() if memory is None else memory
        self.settings = settings or LocalSettings()
        self.initial = initial
        self.secret = secret
        self.class_names = class_names
        self.counts = torch.bincount(data.y, minlength=num_classes).cpu().numpy()

    @classmethod
    def on_arrays(
        cls,
        model: nn.Module,
        x: NDArray[Any],
        y: NDArray[Any],
        *,
        client_id: int | str = 0,
        num_classes: int | None = None,
        state: RecordDict | None = None,
    ) -> LocalClient:
        """A client on plain arrays (float features, or images already normalised), remembering in a Flower `context.state`."""
        classes = int(y.max()) + 1 if num_classes is None else num_classes
        return cls(model, Samples(x, y), classes, client_id=client_id, memory=RecordMemory(state))

    # What the server may ask

    def answer(self, message: Message) -> Message:
        """The reply to a train, evaluate or query message."""
        kind = message.metadata.message_type.split(".")[0]
        config = _config(message.content)
        if kind == MessageType.QUERY:
            return Message(RecordDict({CONFIG: ConfigRecord(self.get_properties(config))}), reply_to=message)
        arrays = _arrays(message.content, ARRAYS)
        if kind == MessageType.EVALUATE:
            loss, count, metrics = self.score(self._task(arrays, config, message.content))
            record = MetricRecord({"num-examples": count, "loss": loss, **metrics})
            return Message(RecordDict({METRICS: record}), reply_to=message)
        task = self._task(arrays, config, message.content)
        reply = self.probe(task) if task.probe else self.train(task)
        content = RecordDict({ARRAYS: _array_record(reply.arrays), METRICS: MetricRecord(dict(reply.metrics))})
        if reply.extra:
            content[EXTRA] = _array_record(reply.extra)
        for number, head in reply.heads.items():
            content[f"{HEAD}{number}"] = _array_record(head)
        return Message(content, reply_to=message)

    def get_properties(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to the query before round 1: who, how many, and the scalars the recipe asks for; never a histogram."""
        method = json.loads(str(config.get(METHOD, "{}")))
        if SECURE_SUM in method:
            return self._masked_counts(**method[SECURE_SUM])
        known: dict[str, Any] = {
            "client-id": self.client_id,
            "num-examples": len(self.data),
            "num-classes": self.num_classes,
            "sample-shape": json.dumps(self.data.x.shape[1:]),
            "parameters": json.dumps(self.flat.names),
            "head": json.dumps(self.flat.model.head_names()),
            "trunk-end": json.dumps(self.flat.model.default_trunk_end),
        }
        if names := names_of_classes(self.class_names):
            known[CLASS_NAMES] = names
        for name, arguments in method.get("asks", {}).items():
            if name != "discrepancy":
                raise ConfigError(f"The server asks for {name!r}, which this client does not answer.")
            known[name] = discrepancy(self.counts, **arguments)
        return known

    def _masked_counts(self, session: str, keys: Sequence[str] = ()) -> dict[str, Any]:
        """The part of a secure sum that may leave: first a public key, then the class counts under masks."""
        if self.secret is None:
            raise ConfigError(
                f"Client {self.client_id} has no folder to keep the secret of a secure sum in: give it a state folder."
            )
        if not keys:
            return {"public-key": masking.public_key(self.secret(), session)}
        return {"masked": masking.masked(self.counts, self.secret(), session, [bytes.fromhex(k) for k in keys])}

    def get_parameters(self, config: Mapping[str, Any]) -> list[NDArray[Any]]:
        return list(self._state_arrays().values())

    def fit(
        self, parameters: list[NDArray[Any]], config: Mapping[str, Any]
    ) -> tuple[list[NDArray[Any]], int, dict[str, Any]]:
        reply = self.train(self._task(self._named(parameters), config, RecordDict()))
        count = int(reply.metrics.pop("num-examples"))
        return list(reply.arrays.values()), count, reply.metrics

    def evaluate(self, parameters: list[NDArray[Any]], config: Mapping[str, Any]) -> tuple[float, int, dict[str, Any]]:
        return self.score(self._task(self._named(parameters), config, RecordDict()))

    # How it does it

    def train(self, task: Task) -> Reply:
        flat = self.flat
        self.memory.keep({task.acked_round, task.saved_round})
        private, remembered = self._begin(task)
        state = {
            name: flat.to_internal(value) for name, value in remembered.items() if not name.startswith(personal.PREFIX)
        }
        forgotten = bool(task.acked_round and not state)
        reported = {}
        if "initial_loss" in task.report:
            reported["initial_loss"] = evaluate(flat.model, self.data, self.num_classes).loss
        own = task.cluster not in task.heads
        r, loss = self._pass(task, state, personal.still_names(task.topology, private, own))
        arrays = self._state_arrays()
        heads = {number: self._train_head(task, number, arrays, private) for number in sorted(task.heads)}
        vectors = {name: flat.to_canonical(value) for name, value in r.state.items()}
        if forgotten and vectors:
            lost = "client %s has lost what it remembered of round %d (its state folder is gone?) and begins from zero"
            log.warning(lost, self.client_id, task.acked_round)
        self.memory.save(task.round, {**vectors, **personal.remember(arrays, private)})
        metrics = {
            "num-examples": len(self.data),
            "train-loss": loss,
            "steps": r.steps,
            "local_weight": effective_steps(r.steps, task.settings.momentum),
            **reported,
            **r.metrics,
        }
        shared = {name: value for name, value in arrays.items() if name not in private}
        return Reply(shared, metrics, {name: flat.to_canonical(value) for name, value in r.reply.items()}, heads)

    def _train_head(self, task: Task, cluster: int, arrays: Arrays, private: set[str]) -> Arrays:
        """Train a cluster's head on the trunk as it is now in `arrays`, which stays still, and so do others' private arrays.

        What the client keeps private and trains here is replaced in `arrays`.
        """
        self._load({**arrays, **task.heads[cluster]})
        still = {name for name in self.flat.names if name not in task.head and name not in private}
        still |= personal.still_names(task.topology, private, cluster == task.cluster)
        self._pass(task, {}, still, phase=f" of head {cluster}")
        after = self._state_arrays()
        arrays |= {name: after[name] for name in private}
        return {name: after[name] for name in task.head}

    def _pass(
        self, task: Task, state: dict[str, torch.Tensor], still: set[str], phase: str = ""
    ) -> tuple[LocalRound, float]:
        """The local epochs of a round from the loaded model on, with everything but `still`."""
        augment = None if task.settings.augment == "none" else Augment(task.settings.augment, self.data.described)
        r = self._local_round(
            task, task.settings, FrozenModels(self.flat, self.data, cached=augment is None), state, phase
        )
        objectives, optimizer = build_objectives(task.objectives), build_optimizer(*task.optimizer)
        trainable = personal.trainable_mask(self.flat, still)
        return r, train(r, task.settings, objectives, optimizer, self.client_id, augment, trainable)

    def probe(self, task: Task) -> Reply:
        """One round of plain training from the run's initial model, which the client makes itself; only the head's update goes up.

        The reply names that model by a checksum, as updates from different ones cannot be compared.
        """
        if self.initial is not None:
            self._load(dict(self.initial()))
        before = self._state_arrays()
        checksum = zlib.crc32(self.flat.vector().tobytes())
        r, loss = self._pass(replace(task, objectives=(), optimizer=("sgd", {})), {}, set())
        after = self._state_arrays()
        update = {name: after[name] - before[name] for name in self.flat.model.head_names()}
        metrics = {"num-examples": len(self.data), "train-loss": loss, "steps": r.steps, "initial-checksum": checksum}
        return Reply(update, metrics)

    def score(self, task: Task) -> tuple[float, int, dict[str, Any]]:
        """Loss and accuracy on the held-out data (on the training data if none is held out), before and after fine-tuning."""
        self._begin(task)
        data = self.held_out if self.held_out is not None and len(self.held_out) else self.data
        before = after = evaluate(self.flat.model, data, self.num_classes)
        if task.personal_epochs:
            self._fine_tune(task)
            after = evaluate(self.flat.model, data, self.num_classes)
        return after.loss, after.count, {"accuracy": after.accuracy, "accuracy-before": before.accuracy}

    def _fine_tune(self, task: Task) -> None:
        settings = replace(task.settings, epochs=task.personal_epochs)
        frozen = FrozenModels(self.flat, self.data, cached=True)
        train(self._local_round(task, settings, frozen, {}), settings, [], build_optimizer("sgd", {}), self.client_id)

    def _begin(self, task: Task) -> tuple[set[str], Arrays]:
        """Load the model of the message, completed from memory; returns the private names and what is remembered."""
        model = self.flat.model
        private = personal.private_names(task.topology, model.state_dict(), model.head_names())
        remembered: Arrays = dict(self.memory.load(task.acked_round))
        self._load(personal.complete(task.arrays, remembered, private))
        return private, remembered

    def _local_round(
        self,
        task: Task,
        settings: LocalSettings,
        frozen: FrozenModels,
        state: dict[str, torch.Tensor],
        phase: str = "",
    ) -> LocalRound:
        flat = self.flat
        return LocalRound(
            round=task.round,
            flat=flat,
            anchor=flat.theta.clone(),
            data=self.data,
            label_probs=torch.as_tensor(self.counts / self.counts.sum(), dtype=torch.float32, device=flat.theta.device),
            lr=settings.lr,
            initial_lr=settings.initial_lr,
            epochs=settings.epochs,
            momentum=settings.momentum,
            frozen_outputs=frozen.outputs,
            extra={name: flat.to_internal(value) for name, value in task.extra.items()},
            scalars=dict(task.scalars),
            state=state,
            phase=phase,
        )

    def _task(self, arrays: Arrays, config: Mapping[str, Any], content: RecordDict) -> Task:
        method = json.loads(str(config.get(METHOD, "{}")))
        return Task(
            arrays=arrays,
            settings=task_settings(self.settings, config),
            round=int(config.get("server-round", 1)),
            extra=_arrays(content, EXTRA),
            heads={int(key.removeprefix(HEAD)): _arrays(content, key) for key in content if key.startswith(HEAD)},
            **{
                key: method[key]
                for key in (
                    "objectives",
                    "optimizer",
                    "scalars",
                    "report",
                    "acked_round",
                    "saved_round",
                    "topology",
                    "personal_epochs",
                    "probe",
                    "cluster",
                    "head",
                )
                if key in method
            },
        )

    def _named(self, parameters: list[NDArray[Any]]) -> Arrays:
        return dict(zip(self.flat.model.state_dict(), parameters, strict=True))

    def _load(self, arrays: Arrays) -> None:
        own = self.flat.model.state_dict()
        if own.keys() != arrays.keys():
            odd = sorted(own.keys() ^ arrays.keys())
            raise ConfigError(
                f"The server's model does not fit client {self.client_id}'s: {odd[0]!r} is on one side only."
            )
        for name, value in own.items():
            if tuple(value.shape) != arrays[name].shape:
                raise ConfigError(
                    f"The server's {name!r} has the shape {arrays[name].shape}, client {self.client_id}'s {tuple(value.shape)}."
                )
        self.flat.load(state_to_vector(arrays, self.flat.names))
        load_buffers(self.flat.model, {name: value for name, value in arrays.items() if name not in self.flat.names})

    def _state_arrays(self) -> Arrays:
        """The model by state-dict names, in the state dict's order."""
        named: Arrays = {**vector_to_state(self.flat.vector(), shapes(self.flat.model)), **buffers(self.flat.model)}
        return {name: np.asarray(named[name]) for name in self.flat.model.state_dict()}


def run_of(message: Message) -> str:
    """The key of the run that a message belongs to, the same after a resume; empty if the server gives none."""
    method = json.loads(str(_config(message.content).get(METHOD, "{}")))
    return str(method.get("run", ""))


def _config(content: RecordDict) -> dict[str, Any]:
    record = content.get(CONFIG)
    return dict(record) if isinstance(record, ConfigRecord) else {}


def _arrays(content: RecordDict, key: str) -> Arrays:
    record = content.get(key)
    return {name: read_array(array) for name, array in record.items()} if isinstance(record, ArrayRecord) else {}


def _array_record(arrays: Arrays) -> ArrayRecord:
    return ArrayRecord({name: Array(value) for name, value in arrays.items()})
