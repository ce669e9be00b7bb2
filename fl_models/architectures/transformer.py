"""A small vision transformer (Dosovitskiy et al., ICLR 2021) for 28x28 and 32x32 images, in the spirit of ASD's A.5.

Patches of 4x4 pixels, width 128, 4 pre-norm blocks of 4 heads and a GELU layer of 512, learned positions.
Deviations: the features are the mean of the patches instead of a class token, and there is no dropout. ASD's Tiny-ViT
and ViT-Small (5 to 22 million parameters) are not reproduced: this one has 0.8 million and trains on a CPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fl_config.errors import ConfigError
from fl_models.declaration import Inputs, architecture
from fl_models.model import Body

PATCH = 4
WIDTH = 128
DEPTH = 4
HEADS = 4


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        batch, patches, _ = x.shape
        query, key, value = self.qkv(x).view(batch, patches, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, patches, WIDTH))
        return out


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.fc1 = nn.Linear(WIDTH, 4 * WIDTH)
        self.fc2 = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        grown: Tensor = x + self.fc2(F.gelu(self.fc1(self.norm2(x))))
        return grown


class TransformerBody(Body):
    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        channels, height, width = shape
        if height % PATCH or width % PATCH:
            raise ConfigError(
                f"Model 'vit' cuts images into patches of {PATCH}x{PATCH} pixels, so both sides must be multiples of "
                f"{PATCH}, but the images are {height}x{width}: resize them or choose another --model."
            )
        self.patches = nn.Conv2d(channels, WIDTH, PATCH, stride=PATCH)
        self.positions = nn.Parameter(torch.empty(1, (height // PATCH) * (width // PATCH), WIDTH).normal_(std=0.02))
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))
        self.norm = nn.LayerNorm(WIDTH)
        self.width = WIDTH
        self.trunk_end = (f"blocks.{DEPTH - 1}", "norm")

    def forward(self, x: Tensor) -> Tensor:
        words = self.patches(x).flatten(2).transpose(1, 2) + self.positions
        features: Tensor = self.norm(self.blocks(words)).mean(dim=1)
        return features


@architecture(
    "vit", "small vision transformer: patches of 4x4, width 128, 4 blocks of 4 heads (after ASD)", takes="images"
)
def transformer_body(inputs: Inputs, option: None) -> TransformerBody:
    return TransformerBody(inputs.shape)
