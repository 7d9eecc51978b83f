"""Where in an image the object is."""

from __future__ import annotations

from typing import NamedTuple

from PIL import Image

Box = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels; right and bottom are the first that are not in it."""


class Foreground(NamedTuple):
    """The pixels of an object, held only where there are any: a typical animal fills a small part of its image.

    Args:
        mask: Mode ``1``, of the box's size: set where the object is.
        box: Where in the image the mask lies.
        size: Width and height of the image.
    """

    mask: Image.Image
    box: Box
    size: tuple[int, int]

    @classmethod
    def of(cls, mask: Image.Image) -> Foreground | None:
        """From a mask of the whole image, set where it is not 0; None where it is 0 everywhere."""
        box = mask.getbbox()
        return None if box is None else cls(mask.crop(box).convert("1", dither=Image.Dither.NONE), box, mask.size)

    def whole(self) -> Image.Image:
        """The mask of the whole image: mode ``L``, 255 on the object and 0 elsewhere."""
        whole = Image.new("L", self.size)
        whole.paste(255, self.box, self.mask)
        return whole
