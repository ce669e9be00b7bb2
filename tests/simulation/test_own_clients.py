"""The census of a simulation: word for word what its clients say when they are asked, and the same run comes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Message
from safetensors.numpy import load_file

import client_app
from fl_config.options import as_flat
from fl_protocol.code import SIMULATION
from fl_runs.plan import Plan, make_plan
from fl_strategies.population.census import OnlyTheClientKnows
from server_app import open_server
from simulation.engines.inline import InlineGrid
from simulation.own_clients import census_of
from simulation.runner import prepare

DIGITS: dict[str, Any] = {"dataset": "digits", "model": "linear", "clients": 6, "rounds": 2, "batch-size": 30}


class Listening(InlineGrid):
    """Keeps the kinds of the messages."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(client_app.app, plan.config.clients, as_flat(plan.config))
        self.kinds: list[str] = []

    def _answer(self, message: Message) -> Message:
        self.kinds.append(message.metadata.message_type)
        return super()._answer(message)


def finished(folder: Path, census: bool, **given: Any) -> tuple[list[str], Any, dict[str, Any]]:
    plan = prepare({**DIGITS, **given, "out": str(folder)})
    server = open_server(plan, census=census_of(plan) if census else None)
    grid = Listening(plan)
    server.run(grid)
    return grid.kinds, server.strategy.members, load_file(folder / "model.safetensors")


@pytest.mark.parametrize(
    "given",
    [
        {"strategy": "feddisco", "partition": "dirichlet:0.3"},
        {"strategy": "feddisco", "partition": "drawn:25:0.3", "disco.scope": "all", "disco.metric": "l2"},
        {"strategy": "fedper+disco", "partition": "dirichlet:0.5"},  # holds a fifth out
        {"strategy": "feddyn", "partition": "drawn:25:0.3", "held-out": 0.3},
    ],
)
def test_the_census_says_what_the_clients_say(given: dict[str, Any], tmp_path: Path) -> None:
    kinds, asked, model = finished(tmp_path / "asked", False, **given)
    fewer, known, same = finished(tmp_path / "known", True, **given)
    assert kinds.count("query") == 6 and fewer.count("query") == 1
    assert known.sizes == asked.sizes and known.nodes == asked.nodes and known.clients == asked.clients
    assert {client: dict(answers) for client, answers in known.answers.items()} == asked.answers
    assert list(known.online) == list(asked.online)
    assert all(np.array_equal(model[name], same[name]) for name in model)
    assert (tmp_path / "asked/metrics.jsonl").read_text().count("\n") == 3


def test_named_clients_are_known_too(tmp_path: Path) -> None:
    lines = [f"{('north', 'south', 'east')[row % 3]},{row % 7},{row % 2}" for row in range(90)]
    (tmp_path / "t.csv").write_text("\n".join(["hospital,age,ill", *lines]) + "\n")
    table = {"dataset": f"csv:{tmp_path / 't.csv'}", "label": "ill", "partition": "column:hospital", "clients": 3}
    kinds, members, _ = finished(tmp_path / "run", True, **table)
    assert kinds.count("query") == 1
    assert members.sizes == {"east": 24, "north": 24, "south": 24} and list(members.online) == [
        "east",
        "north",
        "south",
    ]


@pytest.mark.usefixtures("own_parts")
@pytest.mark.parametrize("own", ["facts.flat.model", "len(facts.data)"])
def test_what_only_a_client_knows_is_asked_of_each(own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SIMULATION, "1")
    text = f"""
from clients.answers.base import number
from fedloom import Params, part
from fl_strategies.weighting.base import Weighting

@number("own_number")
def own_number(facts):
    return float(bool({own}))

@part("curious", slot="weighting", what="asks for what only a client knows")
class Curious(Weighting):
    Params = Params
    asks = ("own_number",)

    def weights(self, cohort, state, server):
        assert all(cohort.answers[client]["own_number"] == 1.0 for client in cohort.ids)
        return cohort.share, state, {{}}
"""
    (tmp_path / "curious.py").write_text(text)
    plugin = {"plugin": str(tmp_path / "curious.py"), "strategy": "fedavg+curious", "partition": "iid"}
    kinds, _, _ = finished(tmp_path / "run", True, **plugin)
    assert kinds.count("query") == 6
    with pytest.raises(OnlyTheClientKnows):
        census_of(make_plan({**DIGITS, **plugin})).numbers(0, {"own_number": {}})


def test_a_secure_sum_is_still_one(tmp_path: Path) -> None:
    kinds, _, _ = finished(tmp_path / "run", True, strategy="feddisco", partition="iid", **{"disco.target": "global"})
    assert kinds.count("query") == 3 * 6  # two steps of the sum, and the question


def test_a_client_that_contradicts_the_census_has_everyone_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plan = prepare({**DIGITS, "partition": "iid", "out": str(tmp_path / "run")})
    census = census_of(plan)
    census.sizes[:] += 1
    server = open_server(plan, census=census)
    grid = Listening(plan)
    with caplog.at_level("WARNING", "fedloom"):
        server.run(grid)
    assert grid.kinds.count("query") == 6 and "otherwise than the partition does" in caplog.text
    assert list(server.strategy.members.sizes.values()) == (census.sizes - 1).tolist()
