"""On a GPU a run must give the same bits again, which cuDNN does only if it is told to."""

from __future__ import annotations

import pytest
import torch

from fl_config.device import choose_device


@pytest.mark.usefixtures("pretended_cuda")
def test_cudnn_is_told_to_be_deterministic() -> None:
    assert choose_device("cuda").type == "cuda"
    assert (torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark) == (True, False)
