"""The text model: its size, and padding that carries no gradient."""

from __future__ import annotations

import torch.nn.functional as F
from torch import nn

from fl_models import build
from tests.fl_models.architectures.every_model import batch, count, fc


def test_textcnn_parameter_count() -> None:
    model = build("textcnn", (40,), 4, kind="tokens", vocabulary=1000)
    assert count(model) == 1000 * 32 + sum(32 * 32 * width + 32 for width in (3, 4, 5)) + fc(96, 4)


def test_padding_tokens_carry_no_gradient() -> None:
    model = build("textcnn", (12,), 3, kind="tokens", vocabulary=30)
    x, y = batch("textcnn", (12,))
    x[:, 6:] = 0
    F.cross_entropy(model(x), y).backward()
    embedding = model.body.get_submodule("embedding").weight
    assert isinstance(embedding, nn.Parameter) and embedding.grad is not None
    assert not embedding[0].any() and not embedding.grad[0].any() and embedding.grad.any()
