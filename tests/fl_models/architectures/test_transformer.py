"""The vision transformer: attention against torch's own, and images of any place in the batch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fl_config.errors import ConfigError
from fl_models.architectures.transformer import HEADS, WIDTH, Attention, TransformerBody


def test_attention_is_torchs_multi_head_attention() -> None:
    torch.manual_seed(0)
    ours, theirs, x = Attention(), nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), torch.randn(2, 5, WIDTH)
    assert theirs.in_proj_weight is not None
    theirs.load_state_dict(
        {
            "in_proj_weight": ours.qkv.weight,
            "in_proj_bias": ours.qkv.bias,
            "out_proj.weight": ours.out.weight,
            "out_proj.bias": ours.out.bias,
        }
    )
    torch.testing.assert_close(ours(x), theirs(x, x, x, need_weights=False)[0], rtol=1e-5, atol=1e-6)


def test_patches_have_places_and_images_do_not_see_each_other() -> None:
    torch.manual_seed(0)
    body, x = TransformerBody((3, 8, 12)).eval(), torch.randn(2, 3, 8, 12)
    assert body.positions.shape == (1, 6, WIDTH)
    torch.testing.assert_close(body(x)[1:], body(x[1:]), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(body(x.flip(3)), body(x), atol=1e-3)
    with pytest.raises(ConfigError, match="multiples of 4, but the images are 8x9"):
        TransformerBody((3, 8, 9))
