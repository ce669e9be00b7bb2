"""A model in words."""

from __future__ import annotations

from torch import nn

from fl_models import build, describe, wrap
from fl_models.loading import source_of


def test_the_model_in_words(net: str) -> None:
    source = source_of(net)
    words = describe(build(net, (3, 8, 8), 5), source)
    assert words == {
        "name": net,
        "parameters": 3 * 4 * 9 + 4 + 144 * 5 + 5,
        "buffers": 0,
        "head": ["fc.weight", "fc.bias"],
        "layers": [
            "conv: Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1)), 112 parameters",
            "fc: Linear(in_features=144, out_features=5, bias=True), 725 parameters",
        ],
        "source": "my_net.py",
        "sha256": source.sha256,
    }
    assert describe(wrap(nn.Linear(2, 3)))["layers"] == [
        "model: Linear(in_features=2, out_features=3, bias=True), 9 parameters"
    ]
    long = describe(build("resnet18:bn", (3, 8, 8), 3))
    assert long["name"] == "resnet18:bn" and len(long["layers"]) == 13 and long["layers"][6] == "... 29 more layers ..."
    assert long["buffers"] == 9_620
