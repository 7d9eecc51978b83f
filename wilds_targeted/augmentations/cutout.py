"""Cutout (DeVries and Taylor, 2017): a grey square hides a part of the picture; one form spares the animal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from PIL import Image

from wilds_targeted.augmentation import Augmentation
from wilds_targeted.augmentations.boxes import box_around, covered_share
from wilds_targeted.augmentations.pictures import demand_picture, in_mode_of
from wilds_targeted.example import Example
from wilds_targeted.foreground import Box

LARGEST_CUTOUT = 0.5
"""The longest side of the square that is cut out, as a share of the image's width."""

CUTOUT_FILL = (125, 123, 114)
"""The grey that FixMatch fills it with, about the mean colour of photographs."""

ACCEPTABLE = 0.5
"""How much of an object a square may hide before another place is drawn."""

TRIES = 3
"""How many places are drawn at the most."""


class BoxSource(Protocol):
    """Tells where in an image the objects are."""

    def boxes(self, row: int, size: tuple[int, int]) -> Sequence[Box]:
        """The boxes of the objects in the image of that row, which has that (width, height); none if nobody knows."""


class Cutout(Augmentation):
    """Hide a square of random side, from nothing to half the width, around a random centre.

    Args:
        objects: Where the objects are; None to look at none. With it, up to three places are drawn until the square
            hides at most half of each object; of three that all hide more, the one that hides least is taken.
    """

    def __init__(self, objects: BoxSource | None = None) -> None:
        self.objects = objects

    def draw(self, example: Example, rng: np.random.Generator) -> Box:
        """The box to cut out."""
        size = demand_picture(example, "cutout" if self.objects is None else "cutout_bbox").size
        side = draw_side(size, rng)
        objects = () if self.objects is None else self.objects.boxes(example.index, size)
        places = []
        for _ in range(TRIES):
            box = draw_place(size, side, rng)
            hidden = max((covered_share(each, box) for each in objects), default=0.0)
            if hidden <= ACCEPTABLE:
                return box
            places.append((hidden, box))
        return min(places)[1]

    def apply(self, example: Example, drawn: Box) -> Image.Image:
        """The image with the box filled, in its own mode."""
        original: Image.Image = example.x
        image = original.convert("RGB")  # a copy, also where it is RGB already
        image.paste(CUTOUT_FILL, drawn)
        return in_mode_of(original, image)


def draw_side(size: tuple[int, int], rng: np.random.Generator) -> float:
    """The side of a square to cut out of an image of that width and height."""
    return float(rng.uniform(0, LARGEST_CUTOUT)) * size[0]


def draw_place(size: tuple[int, int], side: float, rng: np.random.Generator) -> Box:
    """A square of that side around a random centre, as far as it lies within the image."""
    return box_around(size, (side, side), (rng.uniform(0, size[0]), rng.uniform(0, size[1])))
