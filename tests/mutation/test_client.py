"""What a client computes and tells, in closed form: its score, its classes, its label frequencies, and what its teachers see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from clients import LocalClient, LocalSettings
from clients.objectives import asd
from clients.secure.masking import host_secret
from fl_config.options import Options
from fl_data import Samples
from fl_protocol.settings import local_settings
from simulation import run

X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [-1.0, 3.0]], dtype=np.float32)
Y = np.array([0, 1, 1, 2])
WEIGHT, BIAS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], dtype=np.float32), np.zeros(3, dtype=np.float32)


def log_probabilities(x: np.ndarray) -> np.ndarray:
    logits = (x @ WEIGHT.T + BIAS).astype(np.float64)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def test_a_score_is_a_mean_over_the_training_data() -> None:
    client = LocalClient.on_arrays(nn.Linear(2, 3), X, Y)
    loss, count, metrics = client.evaluate([WEIGHT, BIAS], {})
    assert count == 4
    assert loss == pytest.approx(-log_probabilities(X)[np.arange(4), Y].mean(), abs=1e-6)
    assert metrics["accuracy"] == 0.5  # the third and the fourth sample are taken for classes 0 and 1


@pytest.mark.parametrize(("held", "expected"), [(X[:1], 1), (X[:0], 4)])
def test_held_out_data_is_scored_where_there_is_any(held: np.ndarray, expected: int) -> None:
    client = LocalClient(nn.Linear(2, 3), Samples(X, Y), 3, held_out=Samples(held, Y[: len(held)]))
    loss, count, metrics = client.evaluate([WEIGHT, BIAS], {})
    assert count == expected
    assert loss == pytest.approx(-log_probabilities(X)[np.arange(expected), Y[:expected]].mean(), abs=1e-6)
    assert metrics["accuracy"] == (1.0 if expected == 1 else 0.5)


def test_classes_are_counted_from_the_labels_where_nobody_says() -> None:
    client = LocalClient.on_arrays(nn.Linear(2, 3), X, Y)
    assert client.num_classes == 3
    assert client.counts.tolist() == [1, 2, 1]
    assert LocalClient.on_arrays(nn.Linear(2, 7), X, Y, num_classes=7).counts.tolist() == [1, 2, 1, 0, 0, 0, 0]


def test_a_client_left_to_itself_trains_as_the_options_say() -> None:
    assert LocalSettings() == local_settings(Options())


def test_a_secret_has_32_bytes_and_is_made_once(tmp_path: Path) -> None:
    secret = host_secret(tmp_path / "folder" / "a.secret")
    assert len(secret) == 32
    assert host_secret(tmp_path / "folder" / "a.secret") == secret
    assert host_secret(tmp_path / "folder" / "b.secret") != secret
    assert sorted(file.name for file in (tmp_path / "folder").iterdir()) == ["a.secret", "b.secret"]


def test_of_two_processes_that_make_a_secret_the_first_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.secret"

    def overtaken(count: int) -> bytes:
        path.write_bytes(b"f" * count)
        return b"s" * count

    monkeypatch.setattr("os.urandom", overtaken)
    assert host_secret(path) == b"f" * 32
    assert [file.name for file in tmp_path.iterdir()] == ["a.secret"]


RUN = {
    "dataset": "digits", "model": "mlp:16", "clients": 2, "rounds": 1, "batch-size": 0, "lr": 0.5, "engine": "inline",
    "partition": "shards:6", "device": "cpu",
}  # fmt: skip


def trained(folder: Path, **options: Any) -> np.ndarray:
    result = run({**RUN, **options, "out": str(folder / str(len(list(folder.iterdir()))))})
    return np.concatenate([value.ravel() for value in result.model.values()])


@pytest.mark.parametrize("augment", ["none", "crop-flip"])
def test_a_teacher_sees_what_the_student_sees(tmp_path: Path, augment: str) -> None:
    """In the first step teacher and student are one model: on the same views their distance, and its gradient, are zero."""
    plain = trained(tmp_path, strategy="fedavg", augment=augment)
    taught = trained(tmp_path, strategy="asd", augment=augment)
    np.testing.assert_allclose(taught, plain, atol=1e-6)
    assert not np.allclose(
        trained(tmp_path, strategy="asd", augment=augment, epochs=2),
        trained(tmp_path, strategy="fedavg", augment=augment, epochs=2),
        atol=1e-5,
    )


def test_objectives_are_given_label_frequencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []

    def spy(student: Tensor, teacher: Tensor, labels: Tensor, label_probs: Tensor, *_: Any, **__: Any) -> Tensor:
        frequencies = torch.bincount(labels, minlength=len(label_probs)) / len(labels)
        seen.append(torch.stack([label_probs, frequencies]))
        return student.sum() * 0

    monkeypatch.setattr(asd, "asd_loss", spy)
    trained(tmp_path, strategy="asd")
    assert len(seen) == 2
    for given, expected in seen:  # the full batch holds every sample of the client
        np.testing.assert_allclose(given, expected, atol=1e-6)
        assert 0 < (given == 0).sum() < 10
