"""Augmentation: repeatable, of the same form, and doing what its name says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional

from fl_config.errors import ConfigError
from fl_data import Augment
from fl_data.augment import blur, colour_jitter, crop_flip, disturb_features, mask_tokens

COLOUR = SimpleNamespace(kind="image", mean=(0.5, 0.4, 0.3), std=(0.2, 0.25, 0.5), flips=True)
GREY = SimpleNamespace(kind="image", mean=(0.3,), std=(0.35,), flips=False)
FEATURES = SimpleNamespace(kind="features", mean=None, std=None, flips=False)
TOKENS = SimpleNamespace(kind="tokens", mean=None, std=None, flips=False)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(count: int, channels: int, side: int = 16) -> torch.Tensor:
    return torch.randn(count, channels, side, side, generator=generator(9)).contiguous(
        memory_format=torch.channels_last
    )


@pytest.mark.parametrize("spec", ["crop-flip", "ssa"])
@pytest.mark.parametrize(("about", "channels"), [(COLOUR, 3), (GREY, 1)])
@pytest.mark.parametrize("count", [1, 40])
def test_same_form_and_repeatable(spec: str, about: SimpleNamespace, channels: int, count: int) -> None:
    x = images(count, channels)
    before = x.clone()
    augment = Augment(spec, about)
    one, again, other = augment(x, generator(1)), augment(x, generator(1)), augment(x, generator(2))
    assert one.shape == x.shape
    assert one.dtype == x.dtype
    assert one.isfinite().all()
    assert one.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert torch.equal(x, before)


def test_none_changes_nothing() -> None:
    x = images(3, 3)
    assert Augment("none", COLOUR)(x, generator()) is x


def test_crops_are_shifted_copies_filled_with_black() -> None:
    x = torch.arange(1.0, 50 * 28 * 28 + 1).view(50, 1, 28, 28)
    out = crop_flip(x, torch.tensor([-1.0]), False, generator())
    shifts = set()
    for image, source in zip(out[:, 0], x[:, 0], strict=True):
        row, column = (image == source[14, 14]).nonzero()[0].tolist()
        down, right = row - 14, column - 14
        shifts.add((down, right))
        expected = torch.full((36, 36), -1.0)
        expected[4 + down : 32 + down, 4 + right : 32 + right] = source
        assert torch.equal(image, expected[4:32, 4:32])
    assert max(abs(shift) for pair in shifts for shift in pair) == 4
    assert len(shifts) > 20


def test_flips_only_where_the_label_survives() -> None:
    ramp = torch.arange(28.0).expand(200, 1, 28, 28)

    def mirrored(flips: bool) -> int:
        out = crop_flip(ramp, torch.tensor([-99.0]), flips, generator())
        return int((out[:, 0, 14, 16] < out[:, 0, 14, 12]).sum())

    assert mirrored(False) == 0
    assert 70 < mirrored(True) < 130


def test_jitter_keeps_the_range_and_greys_a_fifth() -> None:
    pixels = torch.rand(400, 4, 4, 3, generator=generator(3)) * 0.4 + 0.3
    out = colour_jitter(pixels, generator())
    assert out.min() >= 0
    assert out.max() <= 1
    grey = ((out.amax(3) - out.amin(3)) < 1e-3).flatten(1).all(1)
    assert 50 < int(grey.sum()) < 115
    # A fifth is not jittered; of these, four fifths stay coloured and so unchanged.
    same = ((out - pixels).abs() < 1e-3).flatten(1).all(1)
    assert 35 < int(same.sum()) < 100


def test_blur_keeps_flat_images_and_smooths_others() -> None:
    flat = torch.full((30, 1, 12, 12), 0.7)
    torch.testing.assert_close(blur(flat, generator(), 1.0), flat)
    noise = images(30, 1, 12)
    assert blur(noise, generator(), 1.0).var() < 0.6 * noise.var()
    touched = (blur(images(500, 1, 12), generator()) != images(500, 1, 12)).flatten(1).any(1)
    assert 65 < int(touched.sum()) < 140


def test_black_stays_black_under_the_affine_map() -> None:
    black = torch.full((5, 1, 28, 28), -0.3 / 0.35)
    torch.testing.assert_close(Augment("ssa", GREY)(black, generator()), black)


def test_features_are_noisy_and_partly_dropped() -> None:
    x = torch.randn(500, 20, generator=generator(5)) * torch.tensor([1.0] * 10 + [100.0] * 10) + 7
    out = disturb_features(x, generator())
    dropped = out == 0
    assert dropped.float().mean().item() == pytest.approx(0.1, abs=0.02)
    noise = torch.where(dropped, torch.nan, out - x)
    scale = noise.nan_to_num().pow(2).sum(0).div((~dropped).sum(0)).sqrt()
    torch.testing.assert_close(scale, torch.tensor([0.1] * 10 + [10.0] * 10), rtol=0.15, atol=0)
    alone = torch.randn(1, 50, generator=generator(5))
    assert not torch.equal(disturb_features(alone, generator()), alone)


def test_tokens_are_masked_but_padding_is_not() -> None:
    x = torch.randint(2, 100, (200, 50), generator=generator(1))
    x[:, 40:] = 0
    out = mask_tokens(x, generator())
    assert (out[:, 40:] == 0).all()
    assert out.dtype == torch.int64
    changed = out != x
    assert (out[changed] == 1).all()
    assert changed[:, :40].float().mean().item() == pytest.approx(0.1, abs=0.02)


def test_ssa_on_features_and_tokens() -> None:
    assert Augment("ssa", FEATURES)(torch.ones(4, 3), generator()).shape == (4, 3)
    assert Augment("ssa", TOKENS)(torch.full((4, 9), 5), generator()).dtype == torch.int64


def test_wrong_specs_are_sentences() -> None:
    with pytest.raises(ConfigError, match="known are none"):
        Augment("mixup", COLOUR)
    with pytest.raises(ConfigError, match="for images"):
        Augment("crop-flip", FEATURES)


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
