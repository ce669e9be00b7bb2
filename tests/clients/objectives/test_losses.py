"""The loss objectives against hand-computed numbers, independent NumPy oracles, finite differences and their limits."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError

from clients.effective_steps import effective_steps
from clients.objectives.asd import Asd, AsdParams, asd_loss, asd_weights, default_lam
from clients.objectives.base import Batch, LocalRound
from clients.objectives.decorr import Decorr, DecorrParams, decorr_loss
from clients.objectives.moon import Moon, MoonParams, moon_loss
from clients.objectives.ntd import Ntd, NtdParams, not_true, ntd_loss
from clients.objectives.prox import Prox, ProxParams
from fl_config.params import Params
from fl_models import Outputs

torch.set_num_threads(1)
LOG2, LOG3 = math.log(2), math.log(3)


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def softmax(x: np.ndarray) -> np.ndarray:
    shares: np.ndarray = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    return shares


def fake_round(
    theta: list[float], anchor: list[float], frozen: dict[str, Outputs] | None = None, **given: Any
) -> LocalRound:
    """A round without a training loop; `frozen` maps 'anchor' and 'previous' to what these models put out."""
    omega = torch.tensor(anchor)
    flat = SimpleNamespace(theta=torch.tensor(theta), grad=torch.zeros(len(theta)))

    def frozen_outputs(vector: torch.Tensor, batch: Batch) -> Outputs:
        assert frozen is not None, "no teacher was needed here"
        return frozen["anchor" if torch.equal(vector, omega) else "previous"]

    label_probs = given.pop("label_probs", torch.tensor([0.5, 0.5]))
    kind: Any = LocalRound
    built: LocalRound = kind(
        round=1, flat=flat, anchor=omega, data=None, label_probs=label_probs, lr=0.1, initial_lr=0.1, epochs=1,
        momentum=0.0, frozen_outputs=frozen_outputs, **given,
    )  # fmt: skip
    return built


def outputs(features: torch.Tensor, logits: torch.Tensor | None = None) -> Outputs:
    return Outputs(features, features, features if logits is None else logits)


def batch_of(out: Outputs, labels: list[int]) -> Batch:
    return Batch(x=torch.zeros(len(labels), 1), y=torch.tensor(labels), index=torch.arange(len(labels)), outputs=out)


# --- FedProx ---


def test_prox_adds_mu_times_the_displacement() -> None:
    r = fake_round([1.0, -2.0, 0.5], [0.5, 0.0, 0.5])
    r.flat.grad += torch.tensor([10.0, 20.0, 30.0])
    Prox(ProxParams(mu=0.1)).correction(r)
    torch.testing.assert_close(r.flat.grad, torch.tensor([10.05, 19.8, 30.0]), rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize(("mu", "theta"), [(0.0, [1.0, 2.0]), (0.7, [0.1, 0.3])])
def test_prox_is_exactly_nothing_without_mu_or_at_the_anchor(mu: float, theta: list[float]) -> None:
    r = fake_round(theta, [0.1, 0.3])
    r.flat.grad += torch.tensor([0.123456, -7.0])
    Prox(ProxParams(mu=mu)).correction(r)
    assert torch.equal(r.flat.grad, torch.tensor([0.123456, -7.0]))


def test_prox_is_the_gradient_of_half_mu_squared_distance_and_takes_part_in_both_passes_of_sam() -> None:
    theta = torch.tensor([1.0, -2.0, 0.25], requires_grad=True)
    (0.3 / 2 * (theta - torch.tensor([0.0, 1.0, 2.0])).square().sum()).backward()  # type: ignore[no-untyped-call]
    r = fake_round(theta.tolist(), [0.0, 1.0, 2.0])
    Prox(ProxParams(mu=0.3)).correction(r)
    torch.testing.assert_close(r.flat.grad, theta.grad)
    assert Prox.every_pass


# --- MOON ---


def test_moon_hand_computed() -> None:
    # cos(z, z_g) = 1 and 0, cos(z, z_p) = 0 and 1: softplus(-2) and softplus(2) at tau 0.5.
    z = torch.tensor([[2.0, 0.0], [3.0, 0.0]], dtype=torch.float64)
    z_global = torch.tensor([[5.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    z_previous = torch.tensor([[0.0, 4.0], [0.5, 0.0]], dtype=torch.float64)
    assert moon_loss(z, z_global, z_previous).item() == pytest.approx((0.1269280110 + 2.1269280110) / 2, abs=1e-9)


@pytest.mark.parametrize("tau", [0.5, 0.07])
def test_moon_is_cross_entropy_over_the_two_cosines(tau: float) -> None:
    z, z_global, z_previous = (drawn(5, 7, seed=s) for s in range(3))
    a, b, c = z.numpy(), z_global.numpy(), z_previous.numpy()
    positive = np.exp((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1) / tau)
    negative = np.exp((a * c).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(c, axis=1) / tau)
    expected = np.mean(-np.log(positive / (positive + negative)))
    assert moon_loss(z, z_global, z_previous, tau).item() == pytest.approx(expected, rel=1e-12)


def test_moon_limits() -> None:
    z, other = drawn(4, 3), drawn(4, 3, seed=1)
    assert moon_loss(z, other, None).item() == 0.0
    assert moon_loss(z, other, other).item() == pytest.approx(LOG2, rel=1e-12)
    assert math.isfinite(moon_loss(z, -z, z, tau=1e-4).item())
    assert torch.isfinite(moon_loss(torch.zeros(1, 3), torch.ones(1, 3), torch.ones(1, 3)))


def test_moon_objective_compares_with_anchor_and_previous_and_remembers_the_trained_model() -> None:
    z, z_global, z_previous = (drawn(2, 3, seed=s) for s in range(3))
    r = fake_round([3.0, 4.0], [1.0, 2.0], {"anchor": outputs(z_global), "previous": outputs(z_previous)})
    moon, batch = Moon(MoonParams(mu=0.1, tau=0.4)), batch_of(outputs(z), [0, 1])
    assert moon.loss(r, batch) is None
    moon.end_round(r)
    assert torch.equal(r.state["previous"], torch.tensor([3.0, 4.0]))
    r.flat.theta.zero_()
    assert torch.equal(r.state["previous"], torch.tensor([3.0, 4.0])), "the state must not be a view of the model"
    loss = moon.loss(r, batch)
    assert loss is not None
    assert loss.item() == pytest.approx(0.1 * moon_loss(z, z_global, z_previous, 0.4).item(), rel=1e-12)
    assert Moon(MoonParams(mu=0.0)).loss(r, batch) is None


# --- FedNTD ---


def test_not_true_drops_the_label_and_keeps_the_order() -> None:
    logits = torch.arange(12.0).view(3, 4)
    expected = torch.tensor([[1.0, 2.0, 3.0], [4.0, 6.0, 7.0], [8.0, 9.0, 10.0]])
    assert torch.equal(not_true(logits, torch.tensor([0, 1, 3])), expected)


def test_ntd_hand_computed() -> None:
    # Left over at tau 1: teacher (3/4, 1/4), student (1/2, 1/2): KL = 3/4 log(3/2) + 1/4 log(1/2) = 0.1308120359.
    teacher = torch.tensor([[9.0, LOG3, 0.0]], dtype=torch.float64)
    student = torch.tensor([[-5.0, 1.0, 1.0]], dtype=torch.float64)
    assert ntd_loss(student, teacher, torch.tensor([0])).item() == pytest.approx(0.1308120359, abs=1e-9)
    # At tau 2 the teacher's logits must be doubled for the same probabilities, and tau^2 = 4.
    assert ntd_loss(student, 2 * teacher, torch.tensor([0]), tau=2.0).item() == pytest.approx(
        4 * 0.1308120359, abs=1e-8
    )


def test_ntd_against_numpy() -> None:
    student, teacher, labels = drawn(6, 5), drawn(6, 5, seed=1), [0, 4, 2, 2, 1, 3]
    total = 0.0
    for s, t, y in zip(student.numpy(), teacher.numpy(), labels, strict=True):
        p, q = softmax(np.delete(t, y) / 3), softmax(np.delete(s, y) / 3)
        total += float(np.sum(p * np.log(p / q)))
    assert ntd_loss(student, teacher, torch.tensor(labels), 3.0).item() == pytest.approx(9 * total / 6, rel=1e-12)


@pytest.mark.parametrize("classes", [1, 2])
def test_ntd_of_one_or_two_classes_is_zero(classes: int) -> None:
    student = drawn(3, classes).requires_grad_()
    labels = torch.tensor([0, classes - 1, 0])
    loss = ntd_loss(student, drawn(3, classes, seed=1), labels)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0.0
    assert student.grad is not None
    assert torch.equal(student.grad, torch.zeros(3, classes, dtype=torch.float64))


# --- ASD ---


def asd_oracle(student: Any, teacher: Any, labels: list[int], probs: Any, tau: float, entropy_temp: float) -> float:
    p, q = softmax(teacher / tau), softmax(student / tau)
    kl = np.sum(p * np.log(p / q), axis=1)
    g = softmax(teacher / entropy_temp)
    a = np.exp(np.sum(g * np.log(g), axis=1)) / probs[labels]
    return float(np.sum(a / a.sum() * kl))


def test_asd_hand_computed() -> None:
    # Teachers (1/2, 1/2) and (3/4, 1/4), H = log 2 and 0.5623351446, p = 1/4 and 3/4:
    # a = (1/2) / (1/4) = 2 and 0.5698767642 / (3/4) = 0.7598356857; alpha = 0.7246808244 and 0.2753191756.
    # KL to the student (1/4, 3/4): 0.1438410362 and (1/2) log 3 = 0.5493061443.
    teacher = torch.tensor([[0.0, 0.0], [LOG3, 0.0]], dtype=torch.float64)
    student = torch.tensor([[0.0, LOG3], [0.0, LOG3]], dtype=torch.float64)
    labels, probs = torch.tensor([0, 1]), torch.tensor([0.25, 0.75], dtype=torch.float64)
    alpha = asd_weights(teacher, labels, probs)
    np.testing.assert_allclose(alpha, [0.7246808244, 0.2753191756], atol=1e-9)
    assert asd_loss(student, teacher, labels, probs, tau=1.0).item() == pytest.approx(0.2554733555, abs=1e-9)
    assert asd_loss(student, teacher, labels, probs, tau=1.0, uniform=True).item() == pytest.approx(
        0.3465735903, abs=1e-9
    )


@pytest.mark.parametrize(("tau", "entropy_temp"), [(2.0, 1.0), (2.0, 2.0), (1.0, 0.5)])
def test_asd_against_numpy(tau: float, entropy_temp: float) -> None:
    student, teacher, labels = drawn(7, 4), drawn(7, 4, seed=1), [0, 1, 1, 3, 3, 3, 0]
    probs = torch.tensor([0.2, 0.3, 0.0, 0.5], dtype=torch.float64)
    expected = asd_oracle(student.numpy(), teacher.numpy(), labels, probs.numpy(), tau, entropy_temp)
    loss = asd_loss(student, teacher, torch.tensor(labels), probs, tau, entropy_temp)
    assert loss.item() == pytest.approx(expected, rel=1e-12)


def test_asd_defaults_are_tau_2_and_entropy_at_1() -> None:
    student, teacher, labels = drawn(3, 4), drawn(3, 4, seed=1), [0, 1, 2]
    probs = np.array([0.1, 0.2, 0.3, 0.4])
    loss = asd_loss(student, teacher, torch.tensor(labels), torch.from_numpy(probs))
    assert loss.item() == pytest.approx(
        asd_oracle(student.numpy(), teacher.numpy(), labels, probs, 2.0, 1.0), rel=1e-12
    )


def test_asd_exponents() -> None:
    teacher, labels, probs = drawn(4, 3), torch.tensor([0, 1, 2, 2]), torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    g = softmax(teacher.numpy())
    certainty = np.exp(np.sum(g * np.log(g), axis=1))
    raw = certainty**0.5 / probs.numpy()[labels] ** 3
    np.testing.assert_allclose(asd_weights(teacher, labels, probs, b1=0.5, b2=3.0), raw / raw.sum(), rtol=1e-12)
    np.testing.assert_allclose(asd_weights(teacher, labels, probs, b1=0.0, b2=0.0), np.full(4, 0.25), rtol=1e-12)


def test_asd_other_divergences_and_not_true_classes_against_numpy() -> None:
    student, teacher, labels = drawn(5, 4), drawn(5, 4, seed=1), torch.tensor([0, 1, 2, 3, 1])
    probs = torch.full((4,), 0.25, dtype=torch.float64)
    alpha = asd_weights(teacher, labels, probs).numpy()
    p, q = softmax(teacher.numpy() / 2), softmax(student.numpy() / 2)
    middle = (p + q) / 2
    reverse = np.sum(q * np.log(q / p), axis=1)
    js = (np.sum(p * np.log(p / middle), axis=1) + np.sum(q * np.log(q / middle), axis=1)) / 2
    assert asd_loss(student, teacher, labels, probs, divergence="reverse_kl").item() == pytest.approx(
        alpha @ reverse, rel=1e-12
    )
    assert asd_loss(student, teacher, labels, probs, divergence="js").item() == pytest.approx(alpha @ js, rel=1e-12)
    rest = [
        [softmax(np.delete(logits[i], labels[i]) / 2) for i in range(5)]
        for logits in (teacher.numpy(), student.numpy())
    ]
    kl = [np.sum(a * np.log(a / b)) for a, b in zip(*rest, strict=True)]
    assert asd_loss(student, teacher, labels, probs, ntd=True).item() == pytest.approx(alpha @ np.array(kl), rel=1e-12)
    with pytest.raises(ValueError, match="'hellinger' was given"):
        asd_loss(student, teacher, labels, probs, divergence="hellinger")  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_asd_weights_sum_to_one_and_are_never_nan(dtype: torch.dtype) -> None:
    teacher = (drawn(6, 5) * 200).to(dtype)
    labels = torch.tensor([0, 1, 2, 3, 4, 0])
    for probs in ([0.5, 0.5, 0, 0, 0], [1.0, 0, 0, 0, 0], [0.0] * 5, [1e-30, 1 - 1e-30, 0, 0, 0]):
        alpha = asd_weights(teacher, labels, torch.tensor(probs))
        assert alpha.dtype == dtype
        assert bool(torch.isfinite(alpha).all()) and alpha.sum().item() == pytest.approx(1.0, rel=1e-6)
        student = (drawn(6, 5, seed=1) * 1e4).to(dtype).requires_grad_()
        loss = asd_loss(student, teacher, labels, torch.tensor(probs))
        loss.backward()  # type: ignore[no-untyped-call]
        assert student.grad is not None
        assert bool(torch.isfinite(loss)) and bool(torch.isfinite(student.grad).all())


def test_asd_takes_a_label_of_probability_zero_for_the_rarest_known_one() -> None:
    alpha = asd_weights(torch.zeros(3, 3), torch.tensor([0, 1, 2]), torch.tensor([0.8, 0.2, 0.0]))
    torch.testing.assert_close(alpha, torch.tensor([1 / 9, 4 / 9, 4 / 9]))


def test_asd_of_one_sample_is_its_divergence_and_of_one_class_is_zero() -> None:
    student, teacher = drawn(1, 3), drawn(1, 3, seed=1)
    expected = F.kl_div((student / 2).log_softmax(1), (teacher / 2).softmax(1), reduction="sum")
    assert asd_loss(student, teacher, torch.tensor([2]), torch.tensor([0.1, 0.2, 0.7])).item() == pytest.approx(
        expected.item()
    )
    assert asd_loss(drawn(2, 1), drawn(2, 1, seed=1), torch.tensor([0, 0]), torch.ones(1)).item() == 0.0


def test_asd_with_balanced_labels_and_equal_entropies_is_uniform_distillation() -> None:
    base = drawn(1, 4)
    teacher = torch.cat([base.roll(shift, dims=1) for shift in range(4)])
    student, labels, probs = drawn(4, 4, seed=1), torch.arange(4), torch.full((4,), 0.25)
    torch.testing.assert_close(asd_weights(teacher, labels, probs), torch.full((4,), 0.25, dtype=torch.float64))
    adaptive = asd_loss(student, teacher, labels, probs)
    assert adaptive.item() == pytest.approx(asd_loss(student, teacher, labels, probs, uniform=True).item(), rel=1e-12)


@pytest.mark.parametrize(("classes", "lam"), [(2, 10.0), (10, 10.0), (26, 20.0), (100, 30.0), (200, 20.0)])
def test_asd_auto_weight(classes: int, lam: float) -> None:
    assert default_lam(classes) == lam
    student, teacher = drawn(3, classes), drawn(3, classes, seed=1)
    r = fake_round([1.0], [0.0], {"anchor": outputs(teacher)}, label_probs=torch.full((classes,), 1 / classes))
    loss = Asd(AsdParams()).loss(r, batch_of(outputs(student), [0, 1, 1]))
    assert loss is not None
    expected = lam * asd_loss(student, teacher, torch.tensor([0, 1, 1]), r.label_probs).item()
    assert loss.item() == pytest.approx(expected, rel=1e-12)


def test_asd_objective_hands_every_parameter_on() -> None:
    student, teacher = drawn(3, 4), drawn(3, 4, seed=1)
    r = fake_round([1.0], [0.0], {"anchor": outputs(teacher)}, label_probs=torch.tensor([0.4, 0.3, 0.2, 0.1]))
    batch = batch_of(outputs(student), [0, 1, 3])
    loss = Asd(AsdParams(lam=2.5, tau=3, entropy_temp=2, b1=0.5, b2=2, divergence="js", ntd=True)).loss(r, batch)
    expected = asd_loss(student, teacher, batch.y, r.label_probs, 3.0, 2.0, b1=0.5, b2=2.0, divergence="js", ntd=True)
    assert loss is not None
    assert loss.item() == pytest.approx(2.5 * expected.item(), rel=1e-12)
    assert Asd(AsdParams(lam=0.0)).loss(r, batch) is None
    uniform = Asd(AsdParams(lam=1.0, uniform=True)).loss(r, batch)
    assert uniform is not None
    assert uniform.item() == pytest.approx(asd_loss(student, teacher, batch.y, r.label_probs, uniform=True).item())


@pytest.mark.parametrize(
    "objective", [Asd(AsdParams(lam=30.0)), Asd(AsdParams(lam=30.0, ntd=True)), Ntd(NtdParams(beta=30.0))]
)
def test_distillation_adds_no_gradient_at_the_received_model(objective: Asd | Ntd) -> None:
    weight = drawn(4, 5).requires_grad_()
    x, labels = drawn(6, 5, seed=1), [0, 1, 2, 3, 0, 0]
    logits = x @ weight.T
    r = fake_round([1.0], [1.0], {"anchor": outputs(logits.detach())}, label_probs=torch.tensor([0.5, 0.2, 0.2, 0.1]))
    cross_entropy = F.cross_entropy(logits, torch.tensor(labels))
    (base,) = torch.autograd.grad(cross_entropy, weight, retain_graph=True)
    extra = objective.loss(r, batch_of(outputs(logits), labels))
    assert extra is not None
    (total,) = torch.autograd.grad(cross_entropy + extra, weight)
    assert extra.item() == pytest.approx(0.0, abs=1e-13)
    torch.testing.assert_close(total, base, rtol=1e-12, atol=1e-13)


# --- FedDecorr ---


def test_decorr_hand_computed() -> None:
    # Columns (1,2,3), (1,3,2), (3,2,1): r = 1/2, -1, -1/2; mean r^2 = 1/2; (B-1)^2/B = 4/3.
    features = torch.tensor([[1.0, 1.0, 3.0], [2.0, 3.0, 2.0], [3.0, 2.0, 1.0]], dtype=torch.float64)
    assert decorr_loss(features).item() == pytest.approx(2 / 3, abs=1e-7)


@pytest.mark.parametrize(("batch", "width"), [(16, 5), (8, 8), (8, 15), (4, 9), (3, 30)])
def test_decorr_is_the_scaled_mean_squared_correlation(batch: int, width: int) -> None:
    features = drawn(batch, width)
    r = np.corrcoef(features.numpy(), rowvar=False)
    mean_square = np.mean(r[~np.eye(width, dtype=bool)] ** 2)
    expected = (batch - 1) ** 2 / batch * mean_square
    # The 1e-8 under the root is the rest.
    assert decorr_loss(features).item() == pytest.approx(expected, rel=1e-5)
    assert decorr_loss(features.float()).item() == pytest.approx(expected, rel=1e-4)


def test_decorr_of_one_sample_one_feature_or_dead_features_is_zero() -> None:
    for features in (drawn(1, 6), drawn(6, 1), torch.zeros(4, 20), torch.ones(20, 4)):
        leaf = features.requires_grad_()
        loss = decorr_loss(leaf)
        loss.backward()  # type: ignore[no-untyped-call]
        assert loss.item() == 0.0
        assert leaf.grad is not None
        assert not leaf.grad.any()


def test_decorr_keeps_its_digits_under_mixed_precision() -> None:
    features = drawn(8, 40).float()
    with torch.autocast("cpu", torch.bfloat16):
        mixed = decorr_loss(features)
    assert mixed.item() == pytest.approx(decorr_loss(features).item(), rel=1e-6)


def test_decorr_objective_weighs_the_features() -> None:
    features, logits = drawn(4, 3), drawn(4, 2, seed=1)
    batch = batch_of(outputs(features, logits), [0, 1, 0, 1])
    loss = Decorr(DecorrParams(lam=0.3)).loss(fake_round([0.0], [0.0]), batch)
    assert loss is not None
    assert loss.item() == pytest.approx(0.3 * decorr_loss(features).item(), rel=1e-12)
    assert Decorr(DecorrParams(lam=0.0)).loss(fake_round([0.0], [0.0]), batch) is None


# --- all losses ---

LABELS, PROBS = torch.tensor([0, 2, 1, 2]), torch.tensor([0.3, 0.1, 0.6], dtype=torch.float64)
LOSSES = {
    "moon": lambda x: moon_loss(x, drawn(4, 3, seed=1), drawn(4, 3, seed=2)),
    "ntd": lambda x: ntd_loss(x, drawn(4, 3, seed=1), LABELS, 2.0),
    "asd": lambda x: asd_loss(x, drawn(4, 3, seed=1), LABELS, PROBS),
    "asd_reverse": lambda x: asd_loss(x, drawn(4, 3, seed=1), LABELS, PROBS, divergence="reverse_kl"),
    "asd_js": lambda x: asd_loss(x, drawn(4, 3, seed=1), LABELS, PROBS, divergence="js", ntd=True),
    "decorr": decorr_loss,
    "decorr_wide": lambda x: decorr_loss(torch.cat([x, x**2, x.sin()], dim=1)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_equal_finite_differences(name: str) -> None:
    x = drawn(4, 3).requires_grad_()
    (gradient,) = torch.autograd.grad(LOSSES[name](x), x)
    assert gradient.abs().max() > 1e-6
    step = 1e-6
    for i in range(x.numel()):
        shift = torch.zeros(12, dtype=torch.float64)
        shift[i] = step
        up, down = (LOSSES[name](x.detach() + sign * shift.view(4, 3)).item() for sign in (1, -1))
        assert gradient.view(-1)[i].item() == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-8)


def test_no_gradient_reaches_a_teacher() -> None:
    student, teacher = drawn(4, 3).requires_grad_(), drawn(4, 3, seed=1).requires_grad_()
    total = moon_loss(student, teacher, teacher) + ntd_loss(student, teacher, LABELS)
    for divergence in ("kl", "reverse_kl", "js"):
        total = total + asd_loss(student, teacher, LABELS, PROBS, divergence=divergence)
    total.backward()  # type: ignore[no-untyped-call]
    assert teacher.grad is None
    assert student.grad is not None


def test_parameters_have_the_documented_defaults_ranges_and_descriptions() -> None:
    defaults: dict[type[Params], dict[str, Any]] = {
        ProxParams: {"mu": 0.01},
        MoonParams: {"mu": 1.0, "tau": 0.5},
        NtdParams: {"beta": 1.0, "tau": 1.0},
        DecorrParams: {"lam": 0.1},
        AsdParams: {"lam": "auto", "tau": 2.0, "entropy_temp": 1.0, "b1": 1.0, "b2": 1.0, "uniform": False,
                    "divergence": "kl", "ntd": False},
    }  # fmt: skip
    for kind, expected in defaults.items():
        assert kind().model_dump() == expected
        assert all(field.description for field in kind.model_fields.values())
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (ProxParams, {"mu": -1}),
        (MoonParams, {"tau": 0}),
        (NtdParams, {"tau": 0}),
        (DecorrParams, {"lam": math.nan}),
        (AsdParams, {"lam": -1}),
        (AsdParams, {"lam": "much"}),
        (AsdParams, {"divergence": "l2"}),
        (AsdParams, {"mu": 1}),
    ]
    for kind, values in wrong:
        with pytest.raises(ValidationError):
            kind(**values)


# --- effective steps ---


@pytest.mark.parametrize(
    ("steps", "rho", "expected"), [(7, 0.0, 7.0), (1, 0.9, 1.0), (2, 0.9, 2.9), (3, 0.5, 4.25), (0, 0.9, 0.0)]
)
def test_effective_steps_hand_computed(steps: int, rho: float, expected: float) -> None:
    assert effective_steps(steps, rho) == pytest.approx(expected, rel=1e-12)


def test_effective_steps_is_how_far_a_constant_gradient_carries_heavy_ball_sgd() -> None:
    theta, velocity = 0.0, 0.0
    for steps in range(1, 30):
        velocity = 0.8 * velocity + 1.0
        theta += velocity
        assert effective_steps(steps, 0.8) == pytest.approx(theta, rel=1e-12)


@pytest.mark.parametrize(("steps", "rho"), [(-1, 0.0), (3, 1.0), (3, -0.1)])
def test_effective_steps_refuses_what_has_no_meaning(steps: int, rho: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        effective_steps(steps, rho)
