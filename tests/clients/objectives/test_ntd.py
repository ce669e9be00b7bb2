"""FedNTD against hand-computed numbers and a NumPy oracle."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from clients.objectives.ntd import not_true, ntd_loss
from tests.clients.objectives.rounds import LOG3, drawn, softmax


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
