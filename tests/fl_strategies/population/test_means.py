"""The means that are scored beside the global model, by hand, over rounds with few clients, and after a resume."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from clients.state import FolderMemory
from fl_config.errors import ConfigError
from fl_protocol.types import ClientId
from fl_strategies.population.means import Means
from fl_strategies.population.tally import Tally
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.state import RunState
from simulation import run

RUN = {
    "dataset": "digits",
    "model": "mlp:16",
    "partition": "dirichlet:0.3",
    "clients": 4,
    "fraction": 0.5,
    "rounds": 3,
    "lr": 0.1,
    "device": "cpu",
    "engine": "inline",
    "score": "server,cohort,population",
}


def cohort(round: int, sent: list[float], **models: list[float]) -> Cohort:
    omega = np.array(sent, dtype=np.float32)
    updates = np.array([theta - omega for theta in np.array(list(models.values()), dtype=np.float32)])
    sizes = np.array([1.0, 99.0])[: len(models)]
    return Cohort(round, list(models), sizes, updates, Population({"a": 1, "b": 99, "c": 5, "d": 7}), sent=omega)


def take(means: Means, state: RunState, came: Cohort, saved: Tally | None = None) -> dict[str, list[float]]:
    """One round as a strategy goes about it; the parameters that it would score."""
    means.update(state, came, [{} for _ in came.ids], state.acked if saved is None else saved)
    state.acked.update(dict.fromkeys(came.ids, came.round))
    found = {prefix: theta.tolist() for prefix, (theta, _) in means.models(state).items()}
    state.round = came.round
    return found


def test_both_means_by_hand(tmp_path: Path) -> None:
    """Four clients, two parameters, omega^0 = (1, 1); equal weights although b has 99 times as many samples."""
    state = RunState(0, np.ones(2, dtype=np.float32), {})
    means = Means(("cohort", "population"), lambda client: FolderMemory(tmp_path, client))
    means.open(state)
    assert {key: theta.tolist() for key, (theta, _) in means.models(state).items()} == {"population": [1, 1]}
    # (3 + 5) / 2 = 4; a = 3, b = 5, c and d still 1: 10 / 4
    assert take(means, state, cohort(1, [1, 1], a=[3, 0], b=[5, 2])) == {"cohort": [4, 1], "population": [2.5, 1]}
    # b goes from 5 to 9, c from 1 to 3: 3 + 9 + 3 + 1 = 16
    assert take(means, state, cohort(2, [7, 7], b=[9, 2], c=[3, 1])) == {"cohort": [6, 1.5], "population": [4, 1]}
    # a alone, from 3 to 0: 13 / 4
    assert take(means, state, cohort(3, [2, 2], a=[0, 0])) == {"cohort": [0, 0], "population": [3.25, 1]}
    # a round without replies has no cohort to score, and the population stays
    assert list(means.models(state)) == ["population"]


def test_going_on_from_an_older_checkpoint_gives_the_same_sum(tmp_path: Path) -> None:
    """Rounds 2 and 3 were made and lost: the models of round 1 are still there, whatever came after."""
    first = cohort(1, [1, 1], a=[3, 0], b=[5, 2])
    lost = [cohort(2, [4, 1], a=[8, 8], b=[6, 6]), cohort(3, [7, 7], a=[0.5, 0], c=[9, 9])]
    state = RunState(0, np.ones(2, dtype=np.float32), {})
    means = Means(("population",), lambda client: FolderMemory(tmp_path, client))
    means.open(state)
    take(means, state, first)
    kept, saved = dict(state.parts), state.acked.copy()
    whole = [take(means, state, each, saved) for each in lost]
    again = RunState(1, np.ones(2, dtype=np.float32), {}, parts=kept, acked=saved.copy())
    resumed = Means(("population",), lambda client: FolderMemory(tmp_path, client))
    resumed.open(again)
    assert [take(resumed, again, each, saved) for each in lost] == whole
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"1.safetensors", "2.safetensors", "3.safetensors"}
    take(resumed, again, cohort(4, [7, 7], a=[1, 1]))  # by now round 3 is saved
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"3.safetensors", "4.safetensors"}


def test_a_last_model_that_is_gone_is_told(tmp_path: Path) -> None:
    def memory(client: ClientId) -> FolderMemory:
        return FolderMemory(tmp_path, client)

    state = RunState(0, np.ones(2, dtype=np.float32), {})
    means = Means(("population",), memory)
    means.open(state)
    take(means, state, cohort(1, [1, 1], a=[3, 0]))
    memory("a").keep([])
    with pytest.raises(ConfigError, match="last model of client a, of round 1, is no longer there"):
        take(means, state, cohort(2, [1, 1], a=[3, 0]))


def test_what_has_no_meaning_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="last_models"):
        Means(("population",), None)
    with pytest.raises(ConfigError, match="--score takes server, cohort, population.*'everyone'"):
        run({**RUN, "score": "everyone", "out": str(tmp_path / "a")})
    for strategy in ("fedper", "local", "fedcuau"):
        with pytest.raises(ConfigError, match=f"--score cohort averages whole client models.*'{strategy}'"):
            run({**RUN, "score": "cohort", "strategy": strategy, "out": str(tmp_path / "a")})
    assert not (tmp_path / "a").exists()
    state = RunState(0, np.ones(2, dtype=np.float32), {"running_mean": np.ones(1)})
    with pytest.raises(ConfigError, match="running_mean"):
        Means(("population",), lambda client: FolderMemory(tmp_path, client)).open(state)


def test_a_run_records_what_was_asked_for_and_nothing_else_moves(tmp_path: Path) -> None:
    scored = run({**RUN, "out": str(tmp_path / "scored")})
    plain = run({**RUN, "score": "server", "out": str(tmp_path / "plain")})
    for line, other in zip(scored.metrics, plain.metrics, strict=True):
        new = line.keys() - other.keys()
        assert {key.partition("/")[0] for key in new} == ({"cohort", "population"} if line["round"] else {"population"})
        assert all(line[key] == other[key] for key in other if key != "seconds")
    # Before training everybody has the initial model.
    assert scored.metrics[0]["population/loss"] == scored.metrics[0]["global/loss"]
    # FedAvg weighs by size, so that the equal mean is another model.
    assert scored.metrics[3]["cohort/loss"] != scored.metrics[3]["global/loss"]
    summary = json.loads((tmp_path / "scored" / "summary.json").read_text())
    assert summary["final"]["population/accuracy"] == scored.metrics[3]["population/accuracy"]
    assert {"global/accuracy", "cohort/accuracy"} <= summary["best"].keys()
    assert not (tmp_path / "plain" / "last_models").exists()


def test_with_everybody_in_every_round_the_population_is_the_cohort(tmp_path: Path) -> None:
    made = run({**RUN, "fraction": 1.0, "strategy": "feddyn", "out": str(tmp_path / "run")})
    for line in made.metrics[1:]:
        assert line["population/loss"] == pytest.approx(line["cohort/loss"], rel=1e-5)
        assert line["population/loss"] != line["global/loss"]  # FedDyn's server adds its memory


def test_a_run_that_goes_on_from_its_checkpoint_scores_the_same_bits(tmp_path: Path) -> None:
    whole = run({**RUN, "rounds": 6, "out": str(tmp_path / "whole")})
    run({**RUN, "rounds": 4, "out": str(tmp_path / "part")})
    rest = run({"resume": str(tmp_path / "part"), "rounds": 6})
    keys = ("cohort/loss", "population/loss", "population/accuracy", "global/loss")
    assert [[line[key] for key in keys] for line in rest.metrics[1:]] == [
        [line[key] for key in keys] for line in whole.metrics[1:]
    ]
