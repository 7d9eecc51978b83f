"""What augmentations of sound share: they read the clip anew, and give its picture."""

from __future__ import annotations

from collections.abc import Callable

from PIL import Image

from wilds_targeted.audio.picture import Floats

LoadSound = Callable[[int], tuple[Floats, int]]
"""From a row of the data set to the samples of its clip and their rate."""


def in_size_of(original: Image.Image, picture: Image.Image) -> Image.Image:
    """The picture in the original's size and mode, where a data set has another than the authors'."""
    if picture.size != original.size:
        picture = picture.resize(original.size, Image.Resampling.BILINEAR)
    return picture if picture.mode == original.mode else picture.convert(original.mode)
