"""The drift-correcting methods over whole rounds on quadratic clients: against their equations, against closed forms,
and against each other where one method degenerates to another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fl_strategies.population.tally import Tally
from tests.methods.drift_equations import Oracle
from tests.methods.quadratic_clients import EQUAL, FULL, PARTIAL, START, TARGETS, UNEQUAL, Federation

METHODS: list[tuple[str, dict[str, Any]]] = [
    ("dyn", {"alpha": 0.3}),
    ("speed", {"lam": 0.2}),
    ("vra", {"gamma": 0.1, "a": 7.0, "d": 10.0}),
    ("scaffold", {"size_scaled": False}),
    ("scaffold", {"size_scaled": True}),
    ("dc", {"alpha": 0.3}),
    ("ssg", {"variant": "code", "alpha": 0.2}),
    ("ssg", {"variant": "main", "alpha": 0.2}),
    ("ssg", {"variant": "appendix", "alpha": 0.2}),
]


@pytest.mark.parametrize(
    ("method", "params"), METHODS, ids=[f"{m}-{'-'.join(map(str, p.values()))}" for m, p in METHODS]
)
@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
@pytest.mark.parametrize("changes", [{}, {"batch": 0, "decay": 1.0}], ids=["minibatch", "full_batch"])
def test_rounds_with_partial_participation_follow_the_equations(
    method: str, params: dict[str, Any], sizes: list[int], changes: dict[str, Any]
) -> None:
    ours, oracle = Federation(method, sizes, **params), Oracle(method, sizes, **params)
    np.testing.assert_allclose(ours.run(PARTIAL, **changes), oracle.run(PARTIAL, **changes), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("method", "params"), [METHODS[i] for i in (0, 3, 4, 5, 6)])
def test_client_momentum_divides_by_the_gradients_it_adds_up(method: str, params: dict[str, Any]) -> None:
    ours, oracle = Federation(method, UNEQUAL, **params), Oracle(method, UNEQUAL, **params)
    kwargs: dict[str, Any] = {"momentum": 0.5, "lr": 0.02}
    np.testing.assert_allclose(ours.run(PARTIAL, **kwargs), oracle.run(PARTIAL, **kwargs), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("method", "params"), METHODS)
def test_plug_in_weights_touch_only_the_average_of_theta(method: str, params: dict[str, Any]) -> None:
    ours, oracle = Federation(method, UNEQUAL, **params), Oracle(method, UNEQUAL, **params)
    weights = [0.9, 0.1]
    np.testing.assert_allclose(ours.run(PARTIAL, weights), oracle.run(PARTIAL, weights), rtol=2e-5, atol=2e-5)


def test_non_participants_keep_their_memory() -> None:
    federation = Federation("ssg", EQUAL)
    federation.run([[0, 2]])
    first = {name: value.clone() for name, value in federation.memory[0].items()}
    federation.run([[1, 2]])
    assert set(first) == {"h", "s"} and first["h"].abs().sum() > 0
    assert all(torch.equal(federation.memory[0][name], first[name]) for name in first)
    assert federation.memory[3] == {}
    assert Tally.read(federation.state, "counts") == {0: 1, 2: 2, 1: 1}


def test_running_sum_on_the_server_is_the_sum_of_client_memories() -> None:
    for method, name, total in (("dyn", "h", "H"), ("dc", "h", "H"), ("ssg", "h", "H"), ("vra", "lambda", "Lambda")):
        federation = Federation(method, UNEQUAL)
        federation.run(PARTIAL)
        expected = sum(memory[name].double().numpy() for memory in federation.memory.values())
        np.testing.assert_allclose(federation.state[total], expected, rtol=1e-5, atol=1e-6)


def test_scaffold_control_variate_is_the_mean_of_the_clients() -> None:
    federation = Federation("scaffold", UNEQUAL)
    federation.run(PARTIAL)
    mean = sum(memory["c"].double().numpy() for memory in federation.memory.values()) / 4
    np.testing.assert_allclose(federation.state["c"], mean, rtol=1e-5, atol=1e-6)


def test_scaffold_with_one_full_step_is_sgd_on_the_mean_loss() -> None:
    ours = Federation("scaffold", EQUAL).run(FULL, epochs=1, batch=0, wd=0.0, decay=1.0)
    omega, expected = START.copy(), []
    for _ in FULL:
        omega = omega - 0.1 * (omega - TARGETS.mean(axis=0))
        expected.append(omega)
    np.testing.assert_allclose(ours, np.array(expected), rtol=1e-5, atol=1e-6)


def test_scaffold_size_scaled_agrees_with_the_textbook_on_equal_sizes_and_constant_rate() -> None:
    plain = Federation("scaffold", EQUAL).run(PARTIAL, decay=1.0)
    scaled = Federation("scaffold", EQUAL, size_scaled=True).run(PARTIAL, decay=1.0)
    np.testing.assert_array_equal(plain, scaled)


@pytest.mark.parametrize("method", ["dyn", "speed"])
def test_dyn_fixed_point_is_the_mean_target(method: str) -> None:
    alpha = 0.5
    federation = Federation(method, EQUAL, **{"dyn": {"alpha": alpha}, "speed": {"lam": alpha}}[method])
    # 60 steps at rate 0.5 solve the local problem to float32; 60 rounds reach the fixed point.
    federation.run([[0, 1, 2, 3]] * 60, lr=0.5, decay=1.0, epochs=60, batch=0, wd=0.0)
    mean = TARGETS.mean(axis=0)
    np.testing.assert_allclose(federation.omega, mean, atol=2e-5)
    for i, target in enumerate(TARGETS):
        np.testing.assert_allclose(alpha * federation.memory[i]["h"].numpy(), target - mean, atol=5e-5)
    np.testing.assert_allclose(federation.state["H"], 0, atol=2e-4)


def test_dyn_with_prox_outside_the_weight_decay_takes_the_same_steps() -> None:
    inside = Federation("dyn", UNEQUAL, alpha=0.3, prox_in_wd=True).run(PARTIAL)
    outside = Federation("dyn", UNEQUAL, alpha=0.3, prox_in_wd=False).run(PARTIAL)
    np.testing.assert_allclose(inside, outside, rtol=1e-5, atol=1e-6)


def test_vra_with_unit_dual_step_is_dyn() -> None:
    ours = Federation("vra", EQUAL, gamma=0.25, a=1.0, d=0.25)
    reference = Federation("dyn", EQUAL, alpha=0.25)
    np.testing.assert_allclose(ours.run(PARTIAL), reference.run(PARTIAL), rtol=1e-5, atol=1e-6)
    for i in range(4):
        np.testing.assert_allclose(ours.memory[i]["lambda"] / 0.25, reference.memory[i]["h"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_ssg_without_gate_and_with_prox_penalty_is_dc_to_the_bit(sizes: list[int]) -> None:
    ours = Federation("ssg", sizes, alpha=0.3, gate="one", penalty="prox")
    reference = Federation("dc", sizes, alpha=0.3)
    np.testing.assert_array_equal(ours.run(PARTIAL), reference.run(PARTIAL))
    np.testing.assert_array_equal(ours.state["H"], reference.state["H"])
    np.testing.assert_array_equal(ours.state["s"], reference.state["s"])
    assert np.abs(reference.state["s"]).sum() > 0.1


def test_ssg_with_nothing_on_the_client_is_fedavg_plus_mean_memory() -> None:
    ours = Federation("ssg", EQUAL, alpha=0.0, gate="one", correction="none").run(PARTIAL, decay=1.0, wd=0.0)
    shrink, omega, h = 1 - 0.9**6, START.copy(), np.zeros((4, 3))
    for row, ids in zip(ours, PARTIAL, strict=True):
        moves = shrink * (TARGETS[ids] - omega)  # FedAvg's local training in closed form
        h[ids] += moves
        omega = omega + moves.mean(axis=0) + h.mean(axis=0)
        np.testing.assert_allclose(row, omega, rtol=1e-5, atol=1e-6)


def test_ssg_after_one_full_round_moves_by_one_plus_gate_times_the_mean_move() -> None:
    ours = Federation("ssg", EQUAL).run(FULL[:1], wd=0.0, p=1.0, T=8)
    rho = 1 / 8 + 1
    move = (1 - 0.9**6) * (TARGETS.mean(axis=0) - START)
    np.testing.assert_allclose(ours[0], START + (1 + rho) * move, rtol=1e-5, atol=1e-6)


TABLE_6 = [
    {"penalty": "none", "correction": "none"},
    {"correction": "none"},
    {"penalty": "none"},
    {"gate": "one"},
    {},
]


def test_every_row_of_the_ablation_is_a_method_of_its_own() -> None:
    finals = [Federation("ssg", UNEQUAL, alpha=0.2, **row).run(PARTIAL)[-1] for row in TABLE_6]
    for a in range(len(finals)):
        for b in range(a):
            assert not np.allclose(finals[a], finals[b], atol=1e-3), (TABLE_6[a], TABLE_6[b])


def test_ablation_without_penalty_is_alpha_zero() -> None:
    np.testing.assert_array_equal(
        Federation("ssg", UNEQUAL, alpha=0.2, penalty="none").run(PARTIAL),
        Federation("ssg", UNEQUAL, alpha=0.0).run(PARTIAL),
    )


def test_ssg_actual_step_count_equals_the_global_one_when_clients_are_equal() -> None:
    for correction in ("feddc_state", "previous_moves"):
        global_k = Federation("ssg", EQUAL, correction=correction).run(PARTIAL)
        actual_k = Federation("ssg", EQUAL, correction=correction, K_mode="actual").run(PARTIAL)
        np.testing.assert_array_equal(global_k, actual_k)
        other = Federation("ssg", UNEQUAL, correction=correction, K_mode="actual").run(PARTIAL)
        assert not np.allclose(other, Federation("ssg", UNEQUAL, correction=correction).run(PARTIAL), atol=1e-4)
