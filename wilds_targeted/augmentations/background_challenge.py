"""The Background Challenge: pictures without their background, or without their object (Xiao et al., 2020)."""

from __future__ import annotations

import enum

import numpy as np
from PIL import Image

from wilds_targeted.augmentation import Augmentation
from wilds_targeted.augmentations.copy_paste import ForegroundSource
from wilds_targeted.augmentations.pictures import in_mode_of
from wilds_targeted.example import Example
from wilds_targeted.foreground import Box, Foreground

BLACK = (0, 0, 0)


class Version(enum.StrEnum):
    """What is left of a picture; the rest is black."""

    ONLY_FG = "only_fg"
    """The object's own pixels."""
    NO_FG = "no_fg"
    """All but the object's own pixels, whose outline still shows."""
    ONLY_BG_B = "only_bg_b"
    """All but the smallest rectangle around the object, so that not even the outline shows."""


class BackgroundChallenge(Augmentation):
    """Show one version of every example. Nothing is drawn: the same example always looks the same.

    An example whose foreground is not known is left as it is.

    Args:
        foregrounds: Where the objects are.
        version: What is left of a picture.
    """

    def __init__(self, foregrounds: ForegroundSource, version: Version) -> None:
        self.foregrounds = foregrounds
        self.version = version

    def draw(self, example: Example, rng: np.random.Generator) -> None:
        """Nothing."""
        return

    def apply(self, example: Example, drawn: None) -> Image.Image:
        """This version of the example's picture."""
        image: Image.Image = example.x
        foreground = self.foregrounds.foreground(example.index, image.size)
        return image if foreground is None else show(image, foreground, self.version)


def show(image: Image.Image, foreground: Foreground, version: Version) -> Image.Image:
    """That version of a picture, as a new one of the same size and mode.

    Args:
        image: The picture.
        foreground: Where in it the object is.
        version: What is left.
    """
    original = image.convert("RGB")  # a copy, also where it is RGB already; 0 is black in no palette and no CMYK
    shown = original
    if version is Version.ONLY_FG:
        shown = Image.new("RGB", image.size)
        shown.paste(original.crop(foreground.box), foreground.box, foreground.mask)
    elif version is Version.NO_FG:
        shown.paste(BLACK, foreground.box, foreground.mask)
    else:
        shown.paste(BLACK, surrounding_box(foreground))
    return in_mode_of(image, shown)


def surrounding_box(foreground: Foreground) -> Box:
    """The smallest rectangle around the object; the foreground's own box may be larger."""
    left, top = foreground.box[:2]
    within = foreground.mask.getbbox() or (0, 0, 0, 0)
    return left + within[0], top + within[1], left + within[2], top + within[3]
