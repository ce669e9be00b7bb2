"""A finished run, opened from its folder alone: its plan, what its data were like, and who its clients were.

The folder may have been moved, and the data and the user's files may be gone: their description and their texts are in it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load_file

from fl_config.errors import ConfigError, nearest
from fl_config.toml import read_toml
from fl_data import Dataset
from fl_data.formats.data_card import DataCard
from fl_models.spec import ModelSpec, model_spec
from fl_protocol.types import Arrays, ClientId
from fl_runs.folder import CLIENT_MODELS, CONFIG, MODEL, SOURCES, STATE
from fl_runs.plan import Plan, plan_of_folder
from fl_runs.reading import RunRecord, read_run
from fl_runs.server import server_data

SHOWN = 8  # clients that a sentence lists


@dataclass
class KeptRun:
    folder: Path
    record: RunRecord
    plan: Plan

    @classmethod
    def open(cls, folder: Path | str) -> KeptRun:
        """Raises a sentence unless the run is finished and has a model."""
        folder = Path(folder)
        record = read_run(folder)
        if not record.finished:
            done, wanted = max((line["round"] for line in record.metrics), default=0), record.config.get("rounds", "?")
            raise ConfigError(
                f"The run in {folder} is not finished (round {done} of {wanted}): go on with `fedloom run --resume {folder}` first."
            )
        if not (folder / MODEL).is_file():
            raise ConfigError(f"The run folder {folder} has no {MODEL}: the file is lost, run it again.")
        plan = plan_of_folder(read_toml(folder / CONFIG), folder / SOURCES)
        state = folder / STATE
        where = str(state) if state.is_dir() else plan.config.state_folder
        return cls(folder, record, plan.with_options(state_folder=where))

    @functools.cached_property
    def card(self) -> DataCard:
        """What the data were like; a run of an older version did not write it down, and its data are asked."""
        return DataCard.read(self.folder) or DataCard.of(self.data())

    def data(self) -> Dataset:
        """The data that the run learned from and was tested on."""
        try:
            return server_data(self.plan)
        except ConfigError as problem:
            raise ConfigError(
                f"The data of the run, {self.plan.config.dataset!r}, cannot be had from here ({problem}) Start in the folder in "
                "which the run was started, or say what to predict with --data."
            ) from problem

    @property
    def spec(self) -> ModelSpec:
        card, plan = self.card, self.plan
        outputs = 0 if card.labels == "classes" else card.outputs
        return model_spec(plan.config, card, plan.recipe.projection, num_outputs=outputs, source=plan.code.model)

    def arrays(self) -> Arrays:
        """The saved model by state-dict names."""
        return _arrays(self.folder / MODEL)

    def client_vectors(self) -> Arrays:
        """The clients' last models as vectors, where the method predicts with them; else nothing."""
        path = self.folder / CLIENT_MODELS
        return dict(sorted(_arrays(path).items())) if path.is_file() else {}

    # Clients

    @property
    def clients(self) -> list[ClientId]:
        """Everybody who was scored last, or whose data were divided."""
        for line in reversed(self.record.metrics):
            if ids := line.get("personal/client_ids"):
                return list(ids)
        divided = (self.record.partition or {}).get("client_ids")
        return list(divided or range(self.plan.config.clients))

    @property
    def scores_clients(self) -> bool:
        """Whether clients were scored with models, or on data, of their own."""
        plan = self.plan
        return bool(plan.recipe.personal or plan.personal_epochs or plan.held_out)

    def client(self, name: Any) -> ClientId:
        """The client that a user means by a name or a number."""
        known = {str(client): client for client in self.clients}
        if str(name) not in known:
            some = ", ".join(list(known)[:SHOWN]) + (f", ... ({len(known)} in all)" if len(known) > SHOWN else "")
            near = nearest(str(name), [] if str(name).isdigit() else known)
            raise ConfigError(f"There is no client {str(name)!r} in the run{near} Its clients are {some}.")
        if not self.scores_clients:
            raise ConfigError(
                f"{self.plan.config.strategy} gives its clients no models of their own: leave --client out for the global model."
            )
        if self.plan.private:
            raise ConfigError(
                f"The models of this run's clients are on their own hosts, and so is that of {name}: only the global one is here."
            )
        return known[str(name)]


def _arrays(path: Path) -> dict[str, Any]:
    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"{path} cannot be read as safetensors ({error}).") from error
