"""Clipping, sensitivity and noise by hand; the same bits on every engine; noise of its own where nobody may know it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fl_protocol.types import Matrix
from fl_strategies.recipes import parse
from fl_strategies.round.cohort import Cohort, Population
from fl_strategies.round.privacy.accountant import epsilon
from fl_strategies.round.privacy.central import Central, clip_factors
from fl_strategies.round.privacy.protection import Protection
from fl_strategies.round.privacy.spending import Ledger
from fl_strategies.sampling import sample_cohort
from simulation import run

RUN = {
    "dataset": "digits", "model": "linear", "partition": "dirichlet:0.5", "clients": 6, "rounds": 3, "lr": 0.5,
    "engine": "inline", "device": "cpu", "dp": "central", "dp-clip": 0.5, "dp-noise": 1.5,
}  # fmt: skip


def cohort(updates: Matrix, population: int = 10, round: int = 1) -> Cohort:
    ids: list[Any] = list(range(len(updates)))
    everybody = Population(dict.fromkeys(range(population), 5))
    return Cohort(round, ids, np.full(len(ids), 5.0), updates, everybody)


def test_clipping_is_exact() -> None:
    updates = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [-6.0, 8.0]], dtype=np.float32)
    factors = clip_factors(updates, 1.0)
    assert factors == pytest.approx([0.2, 1.0, 1.0, 0.1])
    assert (np.linalg.norm(updates.astype(np.float64) * factors[:, None], axis=1) <= 1.0 + 1e-12).all()


def test_the_weighted_sum_of_clipped_updates_gets_noise_of_the_right_size() -> None:
    dim, clip, noise = 40_000, 2.0, 1.5
    updates = np.zeros((3, dim), dtype=np.float32)
    updates[:, 0] = 1.0, 4.0, -8.0  # the last two are clipped to 2 and -2
    weights = np.array([0.5, 0.3, 0.2])
    released, shares, own, told = Central(noise, 1e-5, clip=clip, seed=7).release(cohort(updates), updates, weights, {})
    assert released.shape == (1, dim) and shares.tolist() == [1.0]
    deviation = noise * clip * 0.5  # of the largest weight
    assert told == {"privacy/deviation": deviation, "privacy/clipped": pytest.approx(2 / 3)}
    silent = np.zeros(dim)
    silent[0] = 0.5 * 1.0 + 0.3 * 2.0 - 0.2 * 2.0
    drawn = released[0] - silent
    assert drawn.std() == pytest.approx(deviation, rel=0.02) and abs(drawn.mean()) < 5 * deviation / np.sqrt(dim)
    assert abs(drawn[0]) < 5 * deviation
    assert Ledger.read(own, 0.0).times == {0: 1, 1: 1, 2: 1}


def test_no_client_moves_the_sum_by_more_than_the_sensitivity() -> None:
    """Neighbours: one client's update replaced by 0, weights as they are."""
    draws = np.random.default_rng(1)
    for weights in ([0.25] * 4, [0.7, 0.1, 0.1, 0.1]):
        updates = draws.normal(scale=3.0, size=(4, 6)).astype(np.float32)
        p = np.array(weights)
        whole, _, _, told = Central(1.0, 1e-5, clip=1.0, seed=3).release(cohort(updates), updates, p, {})
        moves = []
        for client in range(4):
            without = updates.copy()
            without[client] = 0.0
            other = Central(1.0, 1e-5, clip=1.0, seed=3).release(cohort(without), without, p, {})[0]
            moves.append(float(np.linalg.norm(whole - other)))
        assert max(moves) == pytest.approx(told["privacy/deviation"], rel=1e-6), "noise 1 is one sensitivity"


def test_secret_sampling_has_a_fixed_denominator_and_rounds_without_anybody() -> None:
    central = Central(2.0, 1e-5, rate=0.4, clip=1.0, seed=1)
    for members in (0, 1, 7):
        updates = np.full((members, 30_000), 1e-9, dtype=np.float32)
        given = cohort(updates, population=10)
        weights = central.weights(given)
        assert weights is not None and weights.tolist() == [0.25] * members  # 1 / (0.4 * 10)
        released, _, own, told = central.release(given, updates, weights, {})
        assert told["privacy/deviation"] == 0.5 and released.std() == pytest.approx(0.5, rel=0.03)
        assert central.counted(central.ledger(own)) == 1, "who was drawn is secret, so that everybody pays"


def test_secret_cohorts_are_drawn_once_by_the_rate() -> None:
    sizes = [len(sample_cohort(range(50), 0.02, 5, round, "poisson")) for round in range(400)]
    assert np.mean(sizes) == pytest.approx(1.0, abs=0.25) and min(sizes) == 0
    assert Central(1.0, 1e-5, rate=0.5, seed=5).cohort_seed(5) == 5
    secret = Central(1.0, 1e-5, rate=0.5)
    assert len({secret.cohort_seed(5) for _ in range(5)}) == 5
    assert Central(1.0, 1e-5).cohort_seed(5) == 5, "without a gain by sampling, cohorts need no secret"


def test_noise_that_others_could_compute_is_for_simulations_only() -> None:
    updates = np.zeros((2, 8), dtype=np.float32)
    drawn = [
        Central(1.0, 1e-5, seed=seed).release(cohort(updates), updates, np.full(2, 0.5), {})[0]
        for seed in (4, 4, None, None)
    ]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[2], drawn[3]) and not np.array_equal(drawn[0], drawn[2])


def test_buffers_stay_as_they_went_out() -> None:
    kept = {"mean": np.zeros(2, dtype=np.float32)}
    assert Central(1.0, 1e-5).buffers(kept, lambda weights: {}, np.ones(1)) is kept
    assert Protection().buffers(kept, lambda weights: {"mean": weights}, np.ones(1))["mean"] == 1.0


def test_a_recipe_is_checked_by_the_strategy_itself() -> None:
    Central(1.0, 1e-5).check(parse("fedadam+disco+asd"))


def test_inline_and_ray_give_the_same_bits(tmp_path: Path) -> None:
    wanted = {"sampler": "poisson", "fraction": 0.4, "strategy": "fedavgm+uniform", "seed": 3}
    made = {
        engine: run({**RUN, **wanted, "engine": engine, "workers": 1, "out": str(tmp_path / engine)})
        for engine in ("inline", "ray")
    }
    bits = [(each.folder / "model.safetensors").read_bytes() for each in made.values()]
    assert bits[0] == bits[1]
    told = [[line["privacy/epsilon"] for line in each.metrics] for each in made.values()]
    assert told[0] == told[1] == [epsilon(1.5, 0.4, releases, 1e-5) for releases in range(4)]


def test_a_client_pays_for_the_rounds_that_it_is_in(tmp_path: Path) -> None:
    made = run({**RUN, "fraction": 0.34, "rounds": 6, "strategy": "feddisco", "out": str(tmp_path / "a")})
    times: dict[int, int] = {}
    for line in made.metrics:
        times |= {client: times.get(client, 0) + 1 for client in line.get("cohort", [])}
        assert line["privacy/epsilon"] == epsilon(1.5, 1.0, max(times.values(), default=0), 1e-5)
        if line["round"]:
            assert line["privacy/deviation"] == pytest.approx(1.5 * 0.5 * max(line["weights"]))
    assert max(times.values()) < 6
    assert not (made.folder / "privacy.jsonl").exists(), "noise of the seed is the same again when a round is"
    assert "ended" not in json.loads((made.folder / "summary.json").read_text())


def test_under_masks_clients_add_the_noise_and_the_costs_are_the_same(tmp_path: Path) -> None:
    """With no noise to speak of, the model is that of the server's own clipping up to the fixed point; with noise, the bits repeat."""
    wanted = {**RUN, "strategy": "feddisco", "secure-aggregation": True, "rounds": 2}
    silent = {"dp-noise": 1e-6}
    masked = run({**wanted, **silent, "out": str(tmp_path / "masked")})
    clear = run({**wanted, **silent, "secure-aggregation": False, "out": str(tmp_path / "clear")})
    for name, value in clear.model.items():
        assert np.allclose(masked.model[name], value, atol=1e-6), name
    noisy = [run({**wanted, "out": str(tmp_path / name)}) for name in ("a", "b")]
    assert [line["privacy/epsilon"] for line in noisy[0].metrics] == [epsilon(1.5, 1.0, n, 1e-5) for n in range(3)]
    bits = [(each.folder / "model.safetensors").read_bytes() for each in noisy]
    assert bits[0] == bits[1]
    flat = [np.concatenate([np.ravel(value) for value in each.model.values()]) for each in (noisy[0], clear)]
    line, threshold = noisy[0].metrics[1], 4  # of 6 clients, 0.66 of them
    deviation = 1.5 * 0.5 * max(line["weights"]) * np.sqrt(6 / threshold)
    assert np.std(flat[0] - flat[1]) == pytest.approx(deviation * np.sqrt(2), rel=0.2), "of two rounds"
