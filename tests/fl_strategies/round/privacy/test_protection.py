"""A budget ends a run before it is exceeded, and a resumed run goes on counting wherever it was killed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import client_app
from fl_config.errors import ConfigError
from fl_config.options import as_flat
from fl_runs.folder import RunFolder
from fl_strategies.round.privacy.accountant import epsilon
from fl_strategies.round.privacy.central import Central
from fl_strategies.round.privacy.protection import Accounted, Protection
from fl_strategies.round.privacy.spending import KEY
from fl_strategies.round.records import Observer, Record
from fl_strategies.round.state import RunState
from server_app import open_server
from simulation import Run, run
from simulation.engines.inline import InlineGrid
from simulation.runner import prepare
from tests.fl_strategies.linear_federation import start

RUN: dict[str, Any] = {
    "dataset": "digits", "model": "linear", "partition": "iid", "clients": 4, "rounds": 9, "lr": 0.5, "engine": "inline",
    "device": "cpu", "dp": "central", "dp-clip": 0.5, "dp-noise": 2.0, "dp-budget": 5.5, "save-every": 2, "seed": 1,
}  # fmt: skip
LAST = 5  # the last round that the budget allows for


class Killed(Exception):
    """Ends a run as a kill would: nothing that comes later is written."""


def figures(made: Run) -> list[Record]:
    return [{key: value for key, value in line.items() if key != "seconds"} for line in made.metrics]


def test_the_budget_is_checked_before_every_round() -> None:
    assert epsilon(2.0, 1.0, LAST, 1e-5) <= 5.5 < epsilon(2.0, 1.0, LAST + 1, 1e-5)
    accounted, state = Accounted(2.0, 1e-5, 5.5), RunState(0, np.zeros(1, dtype=np.float32), {})
    done = []
    for round in accounted.rounds(1, 9, state):
        state.parts[KEY] = accounted.spend(round, [1, 2], state.of(KEY))
        done.append(round)
    assert done == list(range(1, LAST + 1))
    assert "budget of epsilon = 5.5 at delta = 1e-05 is spent" in accounted.ended
    with pytest.raises(ConfigError, match="is spent"):
        accounted.asked(6, [1], state.of(KEY))
    assert list(accounted.rounds(6, 9, state)) == [], "a resumed run has nothing left"
    assert list(Accounted(2.0, 1e-5).rounds(6, 9, state)) == [6, 7, 8, 9] and not Accounted(2.0, 1e-5).ended


def test_a_run_without_protection_is_left_alone() -> None:
    nothing, state = Protection(), RunState(0, np.zeros(1, dtype=np.float32), {})
    assert list(nothing.rounds(2, 4, state)) == [2, 3, 4]
    assert nothing.figures(state) == nothing.says(state) == nothing.asked(1, [1], {}) == {}


def test_a_spent_budget_is_a_finished_run_that_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fl_runs.progress import PlainProgress

    made = run({**RUN, "out": str(tmp_path / "a")}, [PlainProgress()])
    assert made.finished and [line["round"] for line in made.metrics] == list(range(LAST + 1))
    assert [line["privacy/epsilon"] for line in made.metrics] == [epsilon(2.0, 1.0, n, 1e-5) for n in range(LAST + 1)]
    summary = json.loads((made.folder / "summary.json").read_text())
    assert summary["finished"] and summary["rounds"] == LAST and "budget of epsilon = 5.5" in summary["ended"]
    said = capsys.readouterr().out
    assert "noise multiplier 2" in said and f"The run ends after round {LAST}. The privacy budget" in said
    bits = (made.folder / "model.safetensors").read_bytes()
    again = run({"resume": str(made.folder), "rounds": 20})
    assert again.rounds == LAST and (made.folder / "model.safetensors").read_bytes() == bits
    more = run({"resume": str(made.folder), "rounds": LAST + 1, "dp-budget": 50.0})
    assert more.rounds == LAST + 1
    assert more.metrics[-1]["privacy/epsilon"] == epsilon(2.0, 1.0, LAST + 1, 1e-5)


class Copies(Observer):
    """Copies the run folder in the middle of a round, when its checkpoint is not yet there or has no line yet."""

    def __init__(self, folder: Path, copies: Path) -> None:
        self.folder, self.copies = folder, copies

    def replied(self, round: int, done: int, total: int) -> None:
        if done == 2:
            shutil.copytree(self.folder, self.copies / f"in round {round}")


def test_a_simulation_that_is_killed_goes_on_with_the_same_bits_and_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, copies = tmp_path / "run", tmp_path / "copies"
    sampled = {"sampler": "poisson", "fraction": 0.7, "strategy": "fedadam+uniform", "dp-budget": 0.0, "rounds": 5}
    recorded = RunFolder.recorded

    def record(self: RunFolder, line: Record) -> None:
        if line["round"] == 4:  # its checkpoint is written, its line is not
            shutil.copytree(folder, copies / "before line 4")
        recorded(self, line)

    monkeypatch.setattr(RunFolder, "recorded", record)
    whole = run({**RUN, **sampled, "out": str(folder)}, [Copies(folder, copies)])
    monkeypatch.undo()
    bits = (folder / "model.safetensors").read_bytes()
    moments = sorted(copy.name for copy in copies.iterdir())
    assert "before line 4" in moments and "in round 4" in moments
    for moment in ("before line 4", "in round 4"):
        shutil.rmtree(folder)
        shutil.copytree(copies / moment, folder)
        resumed = run({"resume": str(folder)})
        assert (folder / "model.safetensors").read_bytes() == bits, moment
        assert figures(resumed) == figures(whole), moment


def deployed(folder: Path, resume: bool = False, dies_in: int = 0, **more: Any) -> list[Record]:
    """A run as a deployment makes it, with noise of the system's; it may die after the model of a round is made."""
    plan = prepare({"resume": str(folder), **more} if resume else {**RUN, "out": str(folder), **more})
    server = open_server(plan, simulated=False)
    kept = server.strategy.hooks.save

    def save(state: RunState, last: bool) -> bool:
        if state.round == dies_in:
            raise Killed
        assert kept is not None
        return kept(state, last)

    server.strategy.hooks.save = save
    grid = InlineGrid(client_app.app, plan.config.clients, as_flat(plan.config))
    with pytest.MonkeyPatch.context() as patch:
        if dies_in:
            patch.setattr(server, "_close", lambda finished: server.folder.close())
        try:
            server.run(grid)
        except Killed:
            assert dies_in
    return server.folder.records


def test_a_deployment_pays_for_releases_that_a_kill_made_it_forget(tmp_path: Path) -> None:
    """Rounds 1 to 4 are run and 2 is saved; after the kill 3 and 4 are run again with other noise, and cost again."""
    folder = tmp_path / "run"
    deployed(folder, dies_in=4)
    assert len((folder / "privacy.jsonl").read_text().splitlines()) == 4
    records = deployed(folder, resume=True)
    assert [line["round"] for line in records] == [0, 1, 2, 3], "one more round was left in the budget"
    assert records[-1]["privacy/epsilon"] == epsilon(2.0, 1.0, LAST, 1e-5)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["finished"] and "is spent" in summary["ended"]
    assert [json.loads(line)["round"] for line in (folder / "privacy.jsonl").read_text().splitlines()] == [
        1,
        2,
        3,
        4,
        3,
    ]


def test_two_deployments_of_one_seed_have_different_noise(tmp_path: Path) -> None:
    for name in ("a", "b"):
        deployed(tmp_path / name, rounds=1)
    assert (tmp_path / "a/model.safetensors").read_bytes() != (tmp_path / "b/model.safetensors").read_bytes()


def test_a_run_keeps_the_noise_that_it_began_with(tmp_path: Path) -> None:
    """The noise follows from the budget and the rounds; more rounds do not change it, so the budget ends them."""
    made = run({**RUN, "dp-noise": 0.0, "rounds": 3, "out": str(tmp_path / "a")})
    spent = made.metrics[-1]["privacy/epsilon"]
    assert 5.49 < spent <= 5.5 and made.rounds == 3
    again = run({"resume": str(tmp_path / "a"), "rounds": 12})
    assert again.rounds == 3 and again.metrics[-1]["privacy/epsilon"] == spent


def test_anybodys_server_app_may_be_protected() -> None:
    made, records, _ = start("fedavg", rounds=3, protection=Central(1.0, 1e-5, 7.0, clip=0.1, seed=1))
    assert [line["round"] for line in records.lines] == [0, 1, 2]
    assert records.lines[-1]["privacy/epsilon"] == epsilon(1.0, 1.0, 2, 1e-5) and made.hooks.protection.ended
    with pytest.raises(ConfigError, match="'scaffold' makes use of more"):
        start("scaffold", protection=Central(1.0, 1e-5))


def test_local_noise_ends_with_its_budget_too(tmp_path: Path) -> None:
    local = {**RUN, "dp": "local", "dp-noise": 0.0, "dp-epsilon": 1.0, "dp-budget": 1.5, "out": str(tmp_path / "a")}
    made = run(local)
    last = made.metrics[-1]
    assert 0 < made.rounds < 9 and last["privacy/epsilon"] <= 1.5 < last["privacy/epsilon_basic"] + 1.0
    assert len((made.folder / "privacy.jsonl").read_text().splitlines()) == made.rounds
