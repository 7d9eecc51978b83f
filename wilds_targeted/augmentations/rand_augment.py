"""RandAugment (Cubuk et al., 2020) with FixMatch's pool of operations, then Cutout (DeVries and Taylor, 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from wilds_targeted.augmentation import Augmentation
from wilds_targeted.augmentations.cutout import CUTOUT_FILL, draw_place, draw_side
from wilds_targeted.augmentations.pictures import demand_picture, in_mode_of
from wilds_targeted.example import Example
from wilds_targeted.foreground import Box


@dataclass(frozen=True)
class Operation:
    """One operation of the pool: a function of an RGB image and a strength, and the range of the strength."""

    function: Callable[[Image.Image, float], Image.Image]
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True)
class Drawn:
    """What happens to one image: operations by name, the strength of each, and the box that is cut out."""

    operations: tuple[str, ...]
    strengths: tuple[float, ...]
    cutout: Box


def _affine(image: Image.Image, *rows: float) -> Image.Image:
    """The pixel (x, y) of the result is the pixel (a x + b y + c, d x + e y + f) of the image, black outside of it."""
    return image.transform(image.size, Image.Transform.AFFINE, rows)


def _autocontrast(image: Image.Image, _: float) -> Image.Image:
    return ImageOps.autocontrast(image)


def _brightness(image: Image.Image, factor: float) -> Image.Image:
    return ImageEnhance.Brightness(image).enhance(factor)


def _color(image: Image.Image, factor: float) -> Image.Image:
    return ImageEnhance.Color(image).enhance(factor)


def _contrast(image: Image.Image, factor: float) -> Image.Image:
    return ImageEnhance.Contrast(image).enhance(factor)


def _equalize(image: Image.Image, _: float) -> Image.Image:
    return ImageOps.equalize(image)


def _identity(image: Image.Image, _: float) -> Image.Image:
    return image


def _posterize(image: Image.Image, bits: float) -> Image.Image:
    return ImageOps.posterize(image, int(bits))


def _rotate(image: Image.Image, degrees: float) -> Image.Image:
    return image.rotate(degrees)


def _sharpness(image: Image.Image, factor: float) -> Image.Image:
    return ImageEnhance.Sharpness(image).enhance(factor)


def _shear_x(image: Image.Image, slope: float) -> Image.Image:
    return _affine(image, 1, slope, 0, 0, 1, 0)


def _shear_y(image: Image.Image, slope: float) -> Image.Image:
    return _affine(image, 1, 0, 0, slope, 1, 0)


def _solarize(image: Image.Image, threshold: float) -> Image.Image:
    # A whole value is at least the threshold just when it is at least the threshold rounded up.
    return ImageOps.solarize(image, math.ceil(threshold))


def _translate_x(image: Image.Image, share: float) -> Image.Image:
    return _affine(image, 1, 0, share * image.width, 0, 1, 0)


def _translate_y(image: Image.Image, share: float) -> Image.Image:
    return _affine(image, 1, 0, 0, 0, 1, share * image.height)


POOL = {
    "AutoContrast": Operation(_autocontrast),
    "Brightness": Operation(_brightness, 0.05, 0.95),
    "Color": Operation(_color, 0.05, 0.95),
    "Contrast": Operation(_contrast, 0.05, 0.95),
    "Equalize": Operation(_equalize),
    "Identity": Operation(_identity),
    "Posterize": Operation(_posterize, 4, 8),
    "Rotate": Operation(_rotate, -30, 30),
    "Sharpness": Operation(_sharpness, 0.05, 0.95),
    "ShearX": Operation(_shear_x, -0.3, 0.3),
    "ShearY": Operation(_shear_y, -0.3, 0.3),
    "Solarize": Operation(_solarize, 0, 256),
    "TranslateX": Operation(_translate_x, -0.3, 0.3),
    "TranslateY": Operation(_translate_y, -0.3, 0.3),
}
"""FixMatch's pool with its ranges, as in WILDS."""

_NAMES = tuple(POOL)


class RandAugment(Augmentation):
    """Apply k operations of the pool, each drawn anew with a strength of its own, then cut a square out.

    Args:
        k: How many operations.
    """

    def __init__(self, k: int = 2) -> None:
        self.k = k

    def draw(self, example: Example, rng: np.random.Generator) -> Drawn:
        """The operations, their strengths, and the box to cut out."""
        size = demand_picture(example, "randaugment").size
        names = tuple(_NAMES[number] for number in rng.integers(len(_NAMES), size=self.k))
        strengths = tuple(float(rng.uniform(POOL[name].low, POOL[name].high)) for name in names)
        return Drawn(names, strengths, draw_place(size, draw_side(size, rng), rng))

    def apply(self, example: Example, drawn: Drawn) -> Image.Image:
        """The image after the operations and the cut, in its own mode."""
        original: Image.Image = example.x
        image = original.convert("RGB")  # a copy, also where it is RGB already
        for name, strength in zip(drawn.operations, drawn.strengths, strict=True):
            image = POOL[name].function(image, strength)
        image.paste(CUTOUT_FILL, drawn.cutout)
        return in_mode_of(original, image)
