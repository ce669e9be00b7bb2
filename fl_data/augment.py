"""Whole-batch augmentation of normalised batches: `none`, `crop-flip`, `reflect-crop-flip`, and `ssa`, the views FedSSA compares.

`crop-flip` shifts an image by up to 4 pixels and mirrors it where a mirrored image keeps its label; black comes in from
outside. `reflect-crop-flip` is the same with the image's own reflection from outside, as NIID-Bench trains on CIFAR-10.

`ssa` on colour images is SADE's recipe: crop with padding 4, colour jitter (.4, .4, .4, .1) with
p = .8, grey with p = .2, blur with sigma in .1..2 and p = .2, flip. Grey images: crop, flip, blur, small affine map.
Features: noise of a tenth of the deviation and 10 % of the values dropped. Tokens: 10 % become unknown words.
Deviations: jitter steps in a fixed order (brightness, contrast, then saturation, hue and grey as one 3x3 matrix per image),
hue as a rotation of the YIQ chroma plane, and the padding shrinks with images below 28 pixels.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from fl_config.errors import ConfigError
from fl_data.formats.text import PADDING, UNKNOWN
from fl_data.samples import Described

SPECS = ("none", "crop-flip", "reflect-crop-flip", "ssa")
_BLUR_RADIUS = 4
_LUMA = (0.299, 0.587, 0.114)
_YIQ = ((0.299, 0.587, 0.114), (0.5959, -0.2746, -0.3213), (0.2115, -0.5227, 0.3112))


class Augment:
    """A callable (normalised batch, generator) -> batch of the same shape, type and memory format."""

    def __init__(self, spec: str, dataset: Described) -> None:
        if spec not in SPECS:
            raise ConfigError(f"The augmentation {spec!r} is unknown; known are {', '.join(SPECS)}.")
        if spec.endswith("crop-flip") and dataset.kind != "image":
            raise ConfigError(f"The augmentation {spec} is for images, but the data are {dataset.kind}.")
        self.spec = spec
        self.kind = dataset.kind
        self.flips = dataset.flips
        if dataset.kind == "image":
            if dataset.mean is None or dataset.std is None:
                raise ConfigError("Images need their mean and deviation to be augmented.")
            self.mean = torch.tensor(dataset.mean, dtype=torch.float32)
            self.std = torch.tensor(dataset.std, dtype=torch.float32)

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        if self.spec == "none" or not len(x):
            return x
        if self.kind == "features":
            return disturb_features(x, generator)
        if self.kind == "tokens":
            return mask_tokens(x, generator)
        black = (-self.mean / self.std).to(x.device)
        x = crop_flip(x, None if self.spec == "reflect-crop-flip" else black, self.flips, generator)
        if self.spec == "ssa" and x.shape[1] == 3:
            x = self._jitter(x, generator)
        elif self.spec == "ssa":
            x = small_affine(x, black, generator)
        if self.spec == "ssa":
            x = blur(x, generator)
        return x.contiguous(memory_format=torch.channels_last)

    def _jitter(self, x: Tensor, generator: torch.Generator) -> Tensor:
        mean, std = self.mean.to(x.device), self.std.to(x.device)
        pixels = x.permute(0, 2, 3, 1) * std + mean
        return ((colour_jitter(pixels, generator) - mean) / std).permute(0, 3, 1, 2)


def _uniform(count: int, low: float, high: float, generator: torch.Generator, like: Tensor) -> Tensor:
    # Drawn where the generator lives, so that a GPU run sees the numbers of a CPU run.
    drawn = torch.rand(count, generator=generator, device=generator.device)
    return (low + (high - low) * drawn).to(like.device)


def crop_flip(x: Tensor, fill: Tensor | None, flips: bool, generator: torch.Generator) -> Tensor:
    """Shift each image by up to the padding and mirror half of them: one gather for both.

    From outside comes the fill, or without one the image's reflection at its edge, which is not repeated.
    """
    count, _, height, width = x.shape
    pad = min(4, max(1, min(height, width) // 7))
    shifts = torch.randint(-pad, pad + 1, (2, count), generator=generator, device=generator.device).to(x.device)
    rows = torch.arange(height, device=x.device) + shifts[0, :, None]
    columns = torch.arange(width, device=x.device) + shifts[1, :, None]
    if flips:
        mirrored = _uniform(count, 0, 1, generator, x) < 0.5
        columns = torch.where(mirrored[:, None], columns.flip(1), columns)
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    if fill is None:
        rows, columns = _reflected(rows, height), _reflected(columns, width)
    place = rows.clamp(0, height - 1)[:, :, None] * width + columns.clamp(0, width - 1)[:, None, :]
    place = place + torch.arange(count, device=x.device)[:, None, None] * (height * width)
    pixels = x.permute(0, 2, 3, 1).reshape(count * height * width, -1)
    moved = pixels.index_select(0, place.view(-1)).view(count, height, width, -1)
    return (moved if fill is None else torch.where(inside[..., None], moved, fill)).permute(0, 3, 1, 2)


def _reflected(place: Tensor, size: int) -> Tensor:
    last = size - 1
    return last - (last - place.abs()).abs()


def colour_jitter(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """Brightness, contrast, saturation, hue and grey on images [n, H, W, 3] in 0..1."""
    count = len(pixels)
    jittered = _uniform(count, 0, 1, generator, pixels) < 0.8
    grey = _uniform(count, 0, 1, generator, pixels) < 0.2

    def factor(low: float, high: float, neutral: float) -> Tensor:
        return torch.where(jittered, _uniform(count, low, high, generator, pixels), neutral)

    brightness, contrast, saturation = (factor(0.6, 1.4, 1.0) for _ in range(3))
    angle = factor(-0.1, 0.1, 0.0) * (2 * math.pi)
    pixels = (pixels * brightness[:, None, None, None]).clamp(0, 1)
    luma = torch.tensor(_LUMA, device=pixels.device)
    middle = (pixels @ luma).mean((1, 2))[:, None, None, None]
    pixels = (middle + (pixels - middle) * contrast[:, None, None, None]).clamp(0, 1)
    to_yiq = torch.tensor(_YIQ, device=pixels.device)
    chroma = torch.where(grey, 0.0, saturation)
    cos, sin, zero, one = chroma * angle.cos(), chroma * angle.sin(), torch.zeros_like(chroma), torch.ones_like(chroma)
    turn = torch.stack([one, zero, zero, zero, cos, -sin, zero, sin, cos], dim=1).view(-1, 3, 3)
    matrix = torch.linalg.inv(to_yiq) @ turn @ to_yiq
    flat = pixels.reshape(count, -1, 3)
    return torch.bmm(flat, matrix.transpose(1, 2)).clamp(0, 1).view_as(pixels)


def blur(x: Tensor, generator: torch.Generator, probability: float = 0.2) -> Tensor:
    """Gaussian blur of a fifth of the images, each with its own sigma in 0.1..2; edges are continued."""
    count = len(x)
    chosen = (_uniform(count, 0, 1, generator, x) < probability).nonzero()[:, 0]
    sigma = _uniform(count, 0.1, 2.0, generator, x)[chosen]
    if not len(chosen):
        return x
    offsets = torch.arange(-_BLUR_RADIUS, _BLUR_RADIUS + 1, device=x.device)
    kernel = torch.exp(-0.5 * (offsets / sigma[:, None]) ** 2)
    kernel = kernel / kernel.sum(1, keepdim=True)
    images = x[chosen].contiguous()
    for axis in (2, 3):
        size = images.shape[axis]
        edges = (0, 0, _BLUR_RADIUS, _BLUR_RADIUS) if axis == 2 else (_BLUR_RADIUS, _BLUR_RADIUS, 0, 0)
        padded = functional.pad(images, edges, mode="replicate")
        images = sum(
            (padded.narrow(axis, k, size) * kernel[:, k, None, None, None] for k in range(len(offsets))),
            start=torch.zeros_like(images),
        )
    blurred = x.clone()
    blurred[chosen] = images
    return blurred


def small_affine(x: Tensor, fill: Tensor, generator: torch.Generator) -> Tensor:
    """Rotate by up to 10 degrees, scale by 0.9..1.1, shear by up to 0.1; black comes in from outside."""
    count = len(x)
    angle = _uniform(count, -math.pi / 18, math.pi / 18, generator, x)
    scale = _uniform(count, 0.9, 1.1, generator, x)
    shear = _uniform(count, -0.1, 0.1, generator, x)
    cos, sin, zero = angle.cos() / scale, angle.sin() / scale, torch.zeros_like(angle)
    matrix = torch.stack([cos, shear - sin, zero, sin, cos, zero], dim=1).view(-1, 2, 3)
    grid = functional.affine_grid(matrix, list(x.shape), align_corners=False)
    base = fill.view(1, -1, 1, 1)
    return functional.grid_sample(x - base, grid, mode="bilinear", padding_mode="zeros", align_corners=False) + base


def disturb_features(x: Tensor, generator: torch.Generator) -> Tensor:
    """Noise of 0.1 deviations of each feature over the batch (of the one sample, if it is alone); 10 % set to 0."""
    spread = x.std(0, unbiased=False) if len(x) > 1 else x.std(unbiased=False)
    noise = torch.randn(x.shape, generator=generator, device=generator.device).to(x.device)
    kept = torch.rand(x.shape, generator=generator, device=generator.device).to(x.device) >= 0.1
    return torch.where(kept, x + 0.1 * spread * noise, 0.0).to(x.dtype)


def mask_tokens(x: Tensor, generator: torch.Generator) -> Tensor:
    """A tenth of the words become the unknown word; padding stays."""
    masked = torch.rand(x.shape, generator=generator, device=generator.device).to(x.device) < 0.1
    return torch.where(masked & (x != PADDING), UNKNOWN, x)
