"""Copy-Paste: the animal onto another, empty background (the paper's Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from PIL import Image, ImageFilter

from wilds_targeted.augmentation import Augmentation
from wilds_targeted.augmentations.backgrounds import BackgroundPools
from wilds_targeted.example import Example
from wilds_targeted.foreground import Foreground


class ForegroundSource(Protocol):
    """Tells where in an image the object is."""

    def foreground(self, row: int, size: tuple[int, int]) -> Foreground | None:
        """The object in the image of that row, which has that (width, height); None if nobody knows."""


class CopyPaste(Augmentation):
    """Paste an example's object onto an empty image drawn from the example's pool.

    Algorithm 1 of the paper: an empty example, and one whose pool is empty, is returned unchanged; so is one whose
    foreground is not known. What is randomized and what is preserved is a matter of the pools alone: backgrounds
    from all cameras randomize habitat and scenery, those from cameras that observe the same class keep the habitat.

    Args:
        pools: The backgrounds.
        pool_of: For an example, the key of its pool; None for an example to leave as it is (the empty ones).
        foregrounds: Where the objects are.
        load_image: Loads the image of a row of the data set, for this paste alone.
        soft_edges: Radius in pixels of the blur of the mask's edge; 0 pastes whole pixels.
    """

    def __init__(
        self,
        pools: BackgroundPools,
        pool_of: Callable[[Example], int | None],
        foregrounds: ForegroundSource,
        load_image: Callable[[int], Image.Image],
        soft_edges: float = 0.0,
    ) -> None:
        self.pools = pools
        self.pool_of = pool_of
        self.foregrounds = foregrounds
        self.load_image = load_image
        self.soft_edges = soft_edges

    def draw(self, example: Example, rng: np.random.Generator) -> int | None:
        """The row of the background, or None for no paste."""
        key = self.pool_of(example)
        return None if key is None else self.pools.draw(key, rng)

    def apply(self, example: Example, drawn: int | None) -> Image.Image:
        """The example's object on that background; the example itself where there is nothing to paste."""
        image: Image.Image = example.x
        if drawn is None:
            return image
        foreground = self.foregrounds.foreground(example.index, image.size)
        if foreground is None:
            return image
        return paste(image, self.load_image(drawn), foreground, self.soft_edges)


def paste(image: Image.Image, background: Image.Image, foreground: Foreground, soft_edges: float = 0.0) -> Image.Image:
    """The image where its foreground is, and the background elsewhere.

    The result has the image's size and mode; a background of another size is resized to it. The image is left as it
    was; the background may be written to, since the caller has just loaded it for this.

    Args:
        image: What the object is copied from.
        background: What it is pasted onto.
        foreground: Where in the image the object is.
        soft_edges: Radius in pixels of a blur of the foreground's edge, where image and background then blend.
    """
    if background.mode != image.mode:
        background = background.convert(image.mode)
    if background.size != image.size:
        background = background.resize(image.size, Image.Resampling.BILINEAR)
    if soft_edges > 0:
        background.paste(image, mask=foreground.whole().filter(ImageFilter.GaussianBlur(soft_edges)))
    else:
        background.paste(image.crop(foreground.box), foreground.box, foreground.mask)
    return background
