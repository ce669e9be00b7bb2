"""ASD against hand-computed numbers, a NumPy oracle and its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from clients.objectives.asd import Asd, AsdParams, asd_loss, asd_weights, default_lam
from tests.clients.objectives.rounds import LOG3, batch_of, drawn, fake_round, outputs, softmax


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
