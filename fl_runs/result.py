"""What a run left, for Python: its records as tables, its model, and its predictions."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fl_runs.folder import MODEL, headline_of
from fl_runs.reading import read_run
from fl_strategies.round.records import Record

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from fl_models import Model
    from fl_runs.prediction import KeptRun

PERSONAL, OF_CLIENTS, IDS = "personal/", "personal/client_", "personal/client_ids"


@dataclass(repr=False)
class Run:
    """A run and its folder. `metrics` are the lines of metrics.jsonl, one per round, the first for the initial model."""

    metrics: list[Record]
    folder: Path
    finished: bool = True

    @classmethod
    def of(cls, folder: Path | str) -> Run:
        """The run in a folder; one that is still going on, or was stopped, has the rounds that it has."""
        record = read_run(Path(folder))
        return cls(record.metrics, record.folder, record.finished)

    @property
    def rounds(self) -> int:
        """The last finished round."""
        return max((record["round"] for record in self.metrics), default=0)

    @property
    def config(self) -> dict[str, Any]:
        """Every option of the run, as in config.toml."""
        return read_run(self.folder).config

    @property
    def summary(self) -> dict[str, Any]:
        """What summary.json says: final and best figures, versions, seconds; empty while the run goes on."""
        return read_run(self.folder).summary

    def __repr__(self) -> str:
        record = read_run(self.folder)
        key = record.headline.key
        known = [value for line in self.metrics if (value := headline_of(line, key)) is not None]
        figure = f", {record.headline.name} {known[-1]:.4f}" if known else ""
        state = "" if self.finished else ", not finished"
        rounds = f"{self.rounds} round{'' if self.rounds == 1 else 's'}"
        return f"<Run {record.strategy}: {rounds}{figure}{state}, {self.folder}>"

    # Tables

    def frame(self) -> pd.DataFrame:
        """One row per round, by its number; a value of a group has the group before it, such as `seconds/train`."""
        import pandas as pd

        rows = [_flat(record) for record in self.metrics]
        return pd.DataFrame(rows, index=pd.Index([row.pop("round") for row in rows], name="round"))

    def clients(self) -> pd.DataFrame:
        """One row per client and evaluation: `round`, `client`, and the client's own figures.

        Clients are scored where the method gives them models of their own, or where the run has `held_out` data; the table of
        any other run has no rows.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for record in self.metrics:
            figures = {
                key.removeprefix(OF_CLIENTS): values
                for key, values in record.items()
                if key.startswith(OF_CLIENTS) and key != IDS
            }
            for place, client in enumerate(record.get(IDS, ())):
                own = {name: values[place] for name, values in figures.items()}
                rows.append({"round": record["round"], "client": client, **own})
        return pd.DataFrame(rows, columns=list(rows[0]) if rows else ["round", "client"])

    # Models

    @functools.cached_property
    def model(self) -> dict[str, torch.Tensor]:
        """The saved model as a state dict; empty for a run that ended before its first round did."""
        from safetensors.torch import load_file

        return dict(load_file(self.folder / MODEL)) if (self.folder / MODEL).exists() else {}

    def load_model(self, client: Any = None) -> Model:
        """The model as a torch module in eval mode: the global one, or a client's own. It takes batches as training made them."""
        from fl_runs.prediction.own_models import client_model, global_model

        kept = self._kept
        return global_model(kept) if client is None else client_model(kept, kept.client(client))

    def predict(self, x: Any = None, client: Any = None) -> pd.DataFrame:
        """Predictions, one row per sample: the prediction, and for classes the probability of each by name.

        x        a DataFrame with the columns of the run's table; an array of samples (images as uint8); a text such as
                 "csv:FILE", as --data has it; without it, the samples that the run was tested on
        client   takes this client's own model, and without x the samples on which the client was scored
        """
        from fl_runs.prediction import predict

        return predict(self._kept, x, client).frame()

    @functools.cached_property
    def _kept(self) -> KeptRun:
        from fl_runs.prediction import KeptRun

        return KeptRun.open(self.folder)


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}/{name}": inner for name, inner in value.items()}
        else:
            flat[key] = value
    return flat
