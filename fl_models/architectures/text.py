"""TextCNN (Kim, 2014; Zhang & Wallace, 2015): the model of FedDisco for AG News, with a hidden dimension of 32.

token ids [B, L] -> embedding 32 -> convolutions of widths 3, 4, 5, each 32 filters -> ReLU -> maximum over time -> 96.
FedDisco prints the "32 hidden dimension" only; here it is both the embedding's size and the filters of each width.
Deviation: no dropout, so that a step is a function of its batch alone. Token 0 is padding: its embedding stays zero.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fl_config.errors import ConfigError
from fl_models.declaration import Inputs, architecture
from fl_models.model import Body

HIDDEN = 32
WIDTHS = (3, 4, 5)


class TextBody(Body):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, HIDDEN, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(HIDDEN, HIDDEN, width) for width in WIDTHS)
        self.width = HIDDEN * len(WIDTHS)
        self.trunk_end = ("convs",)

    def forward(self, tokens: Tensor) -> Tensor:
        words = self.embedding(tokens).transpose(1, 2)
        # Maximum and ReLU commute, as in the image models.
        return torch.cat([conv(words).amax(dim=2) for conv in self.convs], dim=1).relu_()


@architecture(
    "textcnn",
    "embedding and convolutions of widths 3, 4, 5 over tokens, maximum over time (FedDisco on AG News)",
    takes="tokens",
)
def text_body(inputs: Inputs, option: None) -> TextBody:
    shape, vocabulary = inputs
    if len(shape) != 1 or shape[0] < max(WIDTHS):
        raise ConfigError(f"Model 'textcnn' needs texts of at least {max(WIDTHS)} tokens, but the shape is {shape}.")
    if vocabulary < 2:
        raise ConfigError(
            f"Model 'textcnn' needs the number of different tokens as vocabulary, but it is {vocabulary}."
        )
    return TextBody(vocabulary)
