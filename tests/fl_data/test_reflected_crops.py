"""`reflect-crop-flip`: every result is a window of the image padded by its own reflection, perhaps mirrored."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional

from fl_config.errors import ConfigError
from fl_data import Augment

PLAIN = SimpleNamespace(kind="image", mean=(0.0,) * 3, std=(1.0,) * 3, flips=False)
MIRRORED = SimpleNamespace(kind="image", mean=(0.5,) * 3, std=(0.2,) * 3, flips=True)


@pytest.mark.parametrize("about", [PLAIN, MIRRORED])
def test_windows_of_the_reflected_image(about: SimpleNamespace) -> None:
    x = torch.randn(64, 3, 32, 32, generator=torch.Generator().manual_seed(0)).contiguous(
        memory_format=torch.channels_last
    )
    moved = Augment("reflect-crop-flip", about)(x, torch.Generator().manual_seed(1))
    assert moved.shape == x.shape
    assert moved.is_contiguous(memory_format=torch.channels_last)
    padded = functional.pad(x, (4, 4, 4, 4), mode="reflect")
    seen, mirrored = set(), 0
    for image, wide in zip(moved, padded, strict=True):
        found = [
            (top, left, turned)
            for turned in ((False, True) if about.flips else (False,))
            for top in range(9)
            for left in range(9)
            if torch.equal(image.flip(2) if turned else image, wide[:, top : top + 32, left : left + 32])
        ]
        assert len(found) == 1
        seen.add(found[0][:2])
        mirrored += found[0][2]
    assert len(seen) > 30
    assert mirrored == 0 if not about.flips else 16 < mirrored < 48


def test_black_crops_draw_the_same_windows() -> None:
    x = torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    black, reflected = (
        Augment(spec, MIRRORED)(x, torch.Generator().manual_seed(3)) for spec in ("crop-flip", "reflect-crop-flip")
    )
    same = black == reflected
    fill = torch.isclose(black, torch.tensor(-2.5))
    assert (same | fill).all()
    assert not same.all()


def test_for_images_only() -> None:
    features = SimpleNamespace(kind="features", mean=None, std=None, flips=False)
    with pytest.raises(ConfigError, match="reflect-crop-flip is for images, but the data are features"):
        Augment("reflect-crop-flip", features)
