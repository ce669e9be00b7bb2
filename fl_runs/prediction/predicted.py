"""What a run says of samples: one row each, with the prediction, the probability of every class by name, and the label if it is known."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fl_config.device import choose_device
from fl_data import Augment, Samples, target_set
from fl_data.formats.data_card import DataCard
from fl_data.formats.new_samples import NewSamples, of_array, read_samples
from fl_models import Model
from fl_runs.prediction.kept_run import KeptRun
from fl_runs.prediction.own_models import client_model, ensemble, global_model, one_thread, scored_on
from fl_runs.scoring import all_cores
from fl_runs.server import client_counts
from fl_strategies.weighting.base import Weighting
from fl_tasks.classification import EVALUATION_BATCH
from fl_tasks.evaluation import evaluate

if TYPE_CHECKING:
    import pandas as pd

MOST_TOLD = 10  # classes


@dataclass
class Predicted:
    """Outputs [n, k] of the model, before softmax; `scores` are the run's metrics where the labels are known."""

    outputs: NDArray[np.float32]
    truth: NDArray[Any] | None
    card: DataCard
    by: str  # what made them, in words
    scores: dict[str, Any] = field(default_factory=dict)
    beside: str = ""  # one more line of figures, where the run has another model to compare with
    files: Sequence[str] = ()
    weights: dict[str, NDArray[Any]] = field(default_factory=dict)  # of each sample, by client

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Of every class [n, k]; for several labels per sample, of each by itself."""
        z = self.outputs.astype(np.float64)
        if self.card.labels == "many":
            return np.exp(-np.logaddexp(0.0, -z))
        shifted = np.exp(z - z.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))

    def frame(self) -> pd.DataFrame:
        """One row per sample."""
        import pandas as pd

        columns: dict[str, Any] = {"sample": np.arange(len(self.outputs))}
        if self.files:
            columns["file"] = list(self.files)
        columns |= self._named(self.outputs, "prediction")
        if self.truth is not None:
            columns |= self._named(self.truth, "label", known=True)
        if self.card.labels != "numbers":
            own = zip(self.card.output_names, self.probabilities.T, strict=True)
            columns |= {f"probability_{name}": values for name, values in own}
        columns |= {f"weight_{client}": values for client, values in self.weights.items()}
        return pd.DataFrame(columns)

    def _named(self, values: NDArray[Any], what: str, known: bool = False) -> dict[str, Any]:
        """Outputs, or labels that are known, as columns that a reader understands."""
        names = self.card.output_names
        if self.card.labels == "classes":
            return {what: [names[place] for place in (values if known else values.argmax(axis=1))]}
        if self.card.labels == "many":
            holds = values > (0.5 if known else 0.0)
            return {what: [";".join(name for name, yes in zip(names, row, strict=True) if yes) for row in holds]}
        table = values.reshape(len(values), -1)
        if table.shape[1] == 1:
            return {what: table[:, 0]}
        return {f"{what}_{name}": column for name, column in zip(names, table.T, strict=True)}

    def told(self) -> list[str]:
        """A few lines for the terminal."""
        lines = [f"{len(self.outputs)} samples, predicted by {self.by}"]
        if self.scores:
            lines.append(told_scores(self.scores))
        elif self.card.labels == "classes":
            counts = Counter(self._named(self.outputs, "prediction")["prediction"]).most_common(MOST_TOLD)
            lines.append("predicted: " + ", ".join(f"{name} {count}" for name, count in counts))
        return [*lines, *filter(None, [self.beside])]


def told_scores(scores: dict[str, Any]) -> str:
    """All digits, so that they can be compared with the run's records."""
    return ", ".join(f"{key.replace('_', '-')} {value!r}" for key, value in scores.items() if isinstance(value, float))


def predict(run: KeptRun, data: Any = None, client: Any = None) -> Predicted:
    """Predictions for `data` (a spec such as csv:FILE, an array, a frame), or for the samples that the run was tested on.

    `client` takes that client's own model, and without data the samples on which it was scored.
    """
    given = (
        None if data is None else read_samples(data, run.card) if isinstance(data, str) else of_array(data, run.card)
    )
    if client is not None:
        who = run.client(client)
        model = client_model(run, who)
        samples = scored_on(run, who) if given is None else _samples(run, given)
        return _by_model(run, model, samples, given, f"client {who}'s own model", one_thread())
    vectors = run.client_vectors()
    model = global_model(run)
    given = tested(run) if given is None else given
    samples = _samples(run, given)
    plain = _by_model(run, model, samples, given, f"the global model of {run.plan.config.strategy}", all_cores())
    return _by_weights(run, vectors, samples, plain) if vectors else plain


def tested(run: KeptRun) -> NewSamples:
    """The server's test set."""
    dataset = run.data()
    config = run.plan.config
    counts, names = client_counts(run.plan, dataset)
    return NewSamples(*target_set(config.target, dataset, counts, config.seed, names))


def _samples(run: KeptRun, given: NewSamples) -> Samples:
    return Samples(given.x, given.y, run.card, choose_device(run.plan.config.device))


def _by_model(
    run: KeptRun,
    model: Model,
    samples: Samples,
    given: NewSamples | None,
    by: str,
    threads: contextlib.AbstractContextManager[None],
) -> Predicted:
    with threads:
        outputs = _outputs(model, samples)
        scores = {} if samples.y is None else evaluate(model, samples, run.plan.task, run.plan.metrics)
    truth = None if samples.y is None else samples.y.cpu().numpy()
    return Predicted(outputs, truth, run.card, by, _ordered(run, scores), files=given.names if given else ())


def _by_weights(run: KeptRun, vectors: dict[str, Any], samples: Samples, plain: Predicted) -> Predicted:
    """With the clients' kept models, each sample by weights of its own; the global model's figures stand beside."""
    recipe, parameters = run.plan.recipe, run.plan.parameters
    weighting: Weighting = recipe.halves(Weighting.kind)[recipe.weighting](parameters[recipe.weighting])
    batch, _ = samples.batch(slice(None))
    with all_cores():
        outputs, weights = weighting.predict(
            ensemble(run, vectors), batch, Augment("ssa", run.card), run.plan.config.seed
        )
    learned = outputs.float().cpu().numpy()
    truth = plain.truth
    scores = {} if truth is None else {each.key: each(learned, truth) for each in run.plan.metrics.metrics}
    by = f"{len(vectors)} client models, with weights learned for each sample"
    beside = f"{plain.by}: {told_scores(plain.scores)}" if plain.scores else ""
    own = dict(zip(vectors, weights.cpu().numpy().T, strict=True))
    return Predicted(learned, plain.truth, run.card, by, _ordered(run, scores), beside, plain.files, own)


def _ordered(run: KeptRun, scores: dict[str, Any]) -> dict[str, Any]:
    first = run.plan.metrics.headline_key
    shown = {key: scores[key] for key in (first, *(key for key in scores if key != first)) if key in scores}
    return {key: value for key, value in shown.items() if key != "count"}


@torch.no_grad()
def _outputs(model: Model, samples: Samples) -> NDArray[np.float32]:
    """In the batches of an evaluation, which have the same bits."""
    parts: list[Tensor] = []
    for start in range(0, len(samples), EVALUATION_BATCH):
        x, _ = samples.batch(slice(start, start + EVALUATION_BATCH))
        parts.append(model(x).reshape(len(x), -1).float().cpu())
    return torch.cat(parts).numpy()
