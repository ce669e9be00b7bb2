"""A federated client: a Flower `NumPyClient` that answers the server's messages with the one training loop.

Everything about the method arrives with the message (objectives, parameters, the round's numbers, the server's extra arrays), so that
the same client serves every strategy, also Flower's own: without our order it trains plain SGD.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.client import NumPyClient
from numpy.typing import NDArray
from torch import nn

from clients.answers import Facts, number_of, vector_of
from clients.effective_steps import effective_steps
from clients.model_arrays import arrays_of, load_arrays, trainable_mask
from clients.objectives import build_objectives
from clients.objectives.base import LocalRound
from clients.optimizers import build_optimizer
from clients.secure import masking
from clients.secure.aggregation import take_step, train_masked
from clients.state import Memory, RecordMemory
from clients.topologies import build_topology
from clients.topologies.base import PREFIX, ClientTopology, complete, remember
from clients.training import FrozenModels, train
from fl_config.errors import ConfigError
from fl_data import Augment, Samples
from fl_models import Model, wrap
from fl_models.flat import FlatModel
from fl_protocol.arrays import from_record, to_record
from fl_protocol.codec import CONFIG
from fl_protocol.messages import Evaluate, Introduce, MaskedSum, Probe, Train, read_message
from fl_protocol.outgoing import outgoing_vector
from fl_protocol.replies import Introduction, MaskedPart, Probed, Scored, Trained, properties, told_names
from fl_protocol.settings import LocalSettings
from fl_protocol.types import Arrays, ClientId
from fl_tasks import CLASSES, LABELS, Classification, Task, find_metric
from fl_tasks.evaluation import evaluate

log = logging.getLogger("fedloom")


class LocalClient(NumPyClient):
    """One client and its data. `model` may be any nn.Module; ours know their body and head, others are wrapped.

    `initial` makes the run's seeded initial model, for servers that do not send it (a probe); without it the model is taken as it was
    given. `secret` gives the host's secret, for secure sums. `class_names` are told to the server, whose order of classes must be the
    same.
    """

    host: Mapping[str, Any] = MappingProxyType({})  # what a host of its own adds to the client's introduction

    def __init__(
        self,
        model: nn.Module | FlatModel,
        data: Samples,
        num_classes: int,
        *,
        client_id: ClientId = 0,
        held_out: Samples | None = None,
        memory: Memory | None = None,
        settings: LocalSettings | None = None,
        initial: Callable[[], Mapping[str, NDArray[Any]]] | None = None,
        secret: Callable[[], bytes] | None = None,
        class_names: Sequence[str] = (),
        task: Task | None = None,
    ) -> None:
        if data.y is None:
            raise ConfigError(f"Client {client_id} has no labels to train on.")
        if isinstance(model, FlatModel):
            self.flat = model
        else:
            self.flat = FlatModel(model if isinstance(model, Model) else wrap(model, data.batch(slice(0, 2))[0]))
        self.data, self.held_out, self.num_classes, self.client_id = data, held_out, num_classes, client_id
        self.memory = RecordMemory() if memory is None else memory
        self.settings = settings or LocalSettings()
        self.initial = initial
        self.secret = secret
        self.class_names = class_names
        self.task = task or Classification()
        counted = CLASSES in self.task.offers
        self.counts = (torch.bincount(data.y, minlength=num_classes) if counted else torch.zeros(0)).cpu().numpy()

    @classmethod
    def on_arrays(
        cls,
        model: nn.Module,
        x: NDArray[Any],
        y: NDArray[Any],
        *,
        client_id: ClientId = 0,
        num_classes: int | None = None,
        held_out: tuple[NDArray[Any], NDArray[Any]] | None = None,
        task: Task | None = None,
        state: RecordDict | None = None,
    ) -> LocalClient:
        """A client on plain arrays (float features, or images already normalised), remembering in a Flower `context.state`.

        `held_out` are arrays like x and y on which the client is scored; without them it is scored on its training data.
        """
        task = task or Classification()
        truth = task.labels(y, f"client {client_id}")
        classes = task.num_outputs(truth) if num_classes is None else num_classes
        samples = [
            Samples(data, task.labels(labels, f"client {client_id}"), labels=LABELS[task.family])
            for data, labels in ((x, y), *([held_out] if held_out else []))
        ]
        kept = samples[1] if held_out else None
        return cls(
            model, samples[0], classes, client_id=client_id, held_out=kept, memory=RecordMemory(state), task=task
        )

    # What the server may ask

    def answer(self, message: Message) -> Message:
        """The reply to any message, ours or a foreign strategy's."""
        flower_type = message.metadata.message_type.split(".")[0]
        return Message(self._handle(read_message(message.content, flower_type, self.settings)), reply_to=message)

    def _handle(self, order: Any) -> RecordDict:
        match order:
            case Introduce():
                return properties(self.introduce(order))
            case MaskedSum():
                return properties(self.masked_part(order))
            case Probe():
                return self.probe(order).pack()
            case Evaluate():
                return self.score(order).pack()
            case Train():
                return train_masked(self.memory, order, self.train, self.flat.names)
        return take_step(self.memory, order, self.client_id)

    # Flower's older interface: plain lists of arrays

    def get_properties(self, config: Mapping[str, Any]) -> dict[str, Any]:
        content = RecordDict({CONFIG: ConfigRecord(dict(config))})
        return dict(self._handle(read_message(content, "query", self.settings)).config_records[CONFIG])

    def get_parameters(self, config: Mapping[str, Any]) -> list[NDArray[Any]]:
        return list(arrays_of(self.flat).values())

    def fit(
        self, parameters: list[NDArray[Any]], config: Mapping[str, Any]
    ) -> tuple[list[NDArray[Any]], int, dict[str, Any]]:
        reply = self.train(self._older("train", parameters, config))
        count = int(reply.metrics.pop("num-examples"))
        return list(reply.arrays.values()), count, reply.metrics

    def evaluate(self, parameters: list[NDArray[Any]], config: Mapping[str, Any]) -> tuple[float, int, dict[str, Any]]:
        score = self.score(self._older("evaluate", parameters, config))
        return score.loss, score.num_examples, score.metrics

    def _older(self, flower_type: str, parameters: list[NDArray[Any]], config: Mapping[str, Any]) -> Any:
        named = dict(zip(self.flat.state_names, parameters, strict=True))
        content = RecordDict({"arrays": to_record(named), CONFIG: ConfigRecord(dict(config))})
        return read_message(content, flower_type, self.settings)

    # How it answers

    def introduce(self, order: Introduce) -> Introduction:
        """Who, how many, and the numbers that the recipe asks for; never a histogram."""
        facts, model = self._facts(), self.flat.model
        return Introduction(
            client_id=self.client_id,
            num_examples=len(self.data),
            num_classes=self.num_classes,
            sample_shape=list(self.data.x.shape[1:]),
            parameters=list(self.flat.names),
            head=self.flat.head_names,
            trunk_end=list(model.default_trunk_end),
            class_names=told_names(self.class_names),
            numbers={name: number_of(name, facts, arguments) for name, arguments in order.asks.items()},
            **self.host,
        )

    def masked_part(self, order: MaskedSum) -> MaskedPart:
        """The part of a secure sum that may leave: first a public key, then the vector under masks."""
        if self.secret is None:
            raise ConfigError(
                f"Client {self.client_id} has no folder to keep the secret of a secure sum in: give it a state folder."
            )
        if not order.keys:
            return MaskedPart(public_key=masking.public_key(self.secret(), order.session))
        if len(order.arrays):
            load_arrays(self.flat, from_record(order.arrays), self.client_id)
        values = vector_of(order.of, self._facts(), order.arguments)
        keys = [bytes.fromhex(key) for key in order.keys]
        return MaskedPart(masked=masking.masked(values, self.secret(), order.session, keys))

    def train(self, order: Train) -> Trained:
        flat = self.flat
        self.memory.keep({order.acked_round, order.saved_round})
        topology = build_topology(*order.topology)
        private, remembered = self._begin(order.arrays, order.acked_round, topology)
        groups = {name: from_record(record) for name, record in order.groups.items()}
        state = {name: flat.to_internal(value) for name, value in remembered.items() if not name.startswith(PREFIX)}
        forgotten = bool(order.acked_round and not state)
        reported = {name: number_of(name, self._facts()) for name in order.report}
        r, loss = self._pass(order, state, topology.still(private, topology.first_is_own(groups)))
        arrays = arrays_of(flat, into=outgoing_vector(len(flat.theta)))

        def run(start: Arrays, still: set[str], phase: str) -> Arrays:
            load_arrays(flat, start, self.client_id)
            self._pass(order, {}, still, phase)
            return arrays_of(flat)

        beside = topology.further_passes(arrays, groups, private, run)
        vectors = {name: flat.to_canonical(value) for name, value in r.state.items()}
        if forgotten and vectors:
            lost = "client %s has lost what it remembered of round %d (its state folder is gone?) and begins from zero"
            log.warning(lost, self.client_id, order.acked_round)
        self.memory.save(order.round, {**vectors, **remember(arrays, private)})
        metrics = {
            "num-examples": len(self.data),
            "train-loss": loss,
            "steps": r.steps,
            "local_weight": effective_steps(r.steps, order.settings.momentum),
            **reported,
            **r.metrics,
        }
        shared = {name: value for name, value in arrays.items() if name not in private}
        extra = {name: flat.to_canonical(each, outgoing_vector(len(each))) for name, each in r.reply.items()}
        return Trained(shared, metrics, extra, beside)

    def probe(self, order: Probe) -> Probed:
        """One round of plain training from the run's initial model, which the client makes itself; only the head's update goes up.

        The reply names that model by a checksum, as updates from different ones cannot be compared.
        """
        if self.initial is not None:
            load_arrays(self.flat, dict(self.initial()), self.client_id)
        before = arrays_of(self.flat)
        checksum = zlib.crc32(self.flat.vector().tobytes())
        r, loss = self._pass(Train(ArrayRecord(), order.settings, order.round), {}, set())
        after = arrays_of(self.flat)
        update = {name: after[name] - before[name] for name in self.flat.head_names}
        metrics = {"num-examples": len(self.data), "train-loss": loss, "steps": r.steps, "initial-checksum": checksum}
        return Probed(update, metrics)

    def score(self, order: Evaluate) -> Scored:
        """Loss and metrics on the held-out data (on the training data if none is held out), before and after fine-tuning."""
        self._begin(order.arrays, order.acked_round, build_topology(*order.topology))
        data = self.held_out if self.held_out is not None and len(self.held_out) else self.data
        metrics = [find_metric(name, self.task) for name in order.metrics or self.task.metrics]
        figures = [each for each in metrics if each.better is not None]  # lists and tables do not leave a client
        before = after = evaluate(self.flat.model, data, self.task, figures)
        if order.personal_epochs:
            settings = replace(order.settings, epochs=order.personal_epochs, augment="none")
            self._pass(Train(ArrayRecord(), settings, order.round), {}, set())
            after = evaluate(self.flat.model, data, self.task, figures)
        scores = {each.key: after[each.key] for each in figures}
        scores |= {f"{each.key}-before": before[each.key] for each in figures}
        return Scored(after["count"], after["loss"], {key: score for key, score in scores.items() if score is not None})

    # One pass

    def _facts(self) -> Facts:
        return Facts(self.counts, self.data, self.num_classes, self.flat, self.task)

    def _begin(self, arrays: ArrayRecord, acked_round: int, topology: ClientTopology) -> tuple[set[str], Arrays]:
        """Load the model of a message, completed from memory; returns the private names and what is remembered."""
        private = topology.private(self.flat.state_names, self.flat.head_names)
        remembered: Arrays = dict(self.memory.load(acked_round))
        load_arrays(self.flat, complete(from_record(arrays), remembered, private), self.client_id)
        return private, remembered

    def _pass(
        self, order: Train, state: dict[str, torch.Tensor], still: set[str], phase: str = ""
    ) -> tuple[LocalRound, float]:
        """The local epochs of a round from the loaded model on, with everything but `still`; returns the mean loss too."""
        flat, settings = self.flat, order.settings
        augment = None if settings.augment == "none" else Augment(settings.augment, self.data.described)
        r = LocalRound(
            round=order.round,
            flat=flat,
            anchor=flat.theta.clone(),
            data=self.data,
            label_probs=torch.as_tensor(self.counts / self.counts.sum(), dtype=torch.float32, device=flat.theta.device),
            task=self.task,
            lr=settings.lr,
            initial_lr=settings.initial_lr,
            epochs=settings.epochs,
            momentum=settings.momentum,
            frozen_outputs=FrozenModels(flat, self.data, cached=augment is None).outputs,
            extra={name: flat.to_internal(value) for name, value in from_record(order.extra).items()},
            scalars=dict(order.scalars),
            state=state,
            phase=phase,
        )
        objectives, optimizer = build_objectives(order.objectives), build_optimizer(*order.optimizer)
        return r, train(r, settings, objectives, optimizer, self.client_id, augment, trainable_mask(flat, still))
