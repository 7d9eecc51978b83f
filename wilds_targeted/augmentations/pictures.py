"""What augmentations of pictures share."""

from __future__ import annotations

from PIL import Image

from wilds_targeted.errors import DataError
from wilds_targeted.example import Example


def demand_picture(example: Example, name: str) -> Image.Image:
    """The example's picture; an error for an input that is none.

    Args:
        example: Its ``x`` is looked at.
        name: The augmentation, for the message.
    """
    if not isinstance(example.x, Image.Image):
        raise DataError(f"{name} works on PIL images; this data set gives a {type(example.x).__name__}.")
    return example.x


def in_mode_of(original: Image.Image, image: Image.Image) -> Image.Image:
    """The RGB image in the original's mode."""
    return image if original.mode == "RGB" else image.convert(original.mode)
