"""Masks and boxes as images of mode 'L': 255 where the animals are, else 0.

A mask file holds numbers, not shades: a pixel is the position, from 1, of a detection in its image's list. Numbers are
never interpolated: between instances 2 and 6 there is no instance 4.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wilds_targeted.annotations.build import BOX_STEPS
from wilds_targeted.errors import AnnotationError

_SINGLE_CHANNEL = ("L", "P", "1", "I;16", "I")
_UNREADABLE = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, Image.DecompressionBombError)
_EVERY_INSTANCE = bytes([0] + 255 * [255])


def load_mask(
    path: Path, size: tuple[int, int] | None, ordinals: NDArray[np.uint8] | None, listed: int
) -> Image.Image | None:
    """The chosen instances of a mask file.

    Args:
        path: The PNG.
        size: Width and height of the result; None for the file's own.
        ordinals: The instances to keep, as `AnnotationTable.instances` gives them; None for every one.
        listed: How many detections are listed for the image; -1 where that is not known.

    Returns:
        An image of mode 'L', or None where nothing of these instances is in it. With no ordinals at all the file is
        not opened.

    Raises:
        AnnotationError: The file cannot be read, is not of one channel, or has an instance that is not listed.
    """
    if ordinals is not None and len(ordinals) == 0:
        return None
    numbers = _read(path)
    _check_listed(path, numbers, listed)  # before resizing, which may lose a small instance
    if size is not None and numbers.size != size:
        numbers = numbers.resize(size, Image.Resampling.NEAREST)
    numbers = _as_bytes(numbers, keep_unlisted=ordinals is None)
    box = numbers.getbbox()
    if box is None:
        return None
    # Only where there is anything: most of a mask is background.
    chosen = numbers.crop(box).point(_table(ordinals))
    if chosen.getbbox() is None:
        return None
    mask = Image.new("L", numbers.size)
    mask.paste(chosen, box)
    return mask


def _check_listed(path: Path, numbers: Image.Image, listed: int) -> None:
    if listed < 0:
        return
    box = numbers.getbbox()
    # Numpy's maximum is ten times faster than `getextrema`.
    largest = int(np.asarray(numbers.crop(box)).max()) if box else 0
    if largest > listed:
        raise AnnotationError(
            f"{path}: has instance {largest}, but the detections file lists {listed} for this image: "
            "masks and detections are not of the same release"
        )


def boxes_mask(boxes: NDArray[np.floating[Any]], size: tuple[int, int]) -> Image.Image:
    """Filled boxes: every pixel that a box touches, and at least one pixel each.

    Args:
        boxes: x, y, width and height relative to the image, one row each, as `AnnotationTable.boxes` gives them.
        size: Width and height of the result.
    """
    # A box's edge between two pixels must not touch the next one only because the table rounds to 1/65535.
    rounding = 1 / BOX_STEPS
    extent = np.array(size)
    first = np.floor((boxes[:, :2] + rounding) * extent).astype(int).clip(0, extent - 1)
    beyond = np.ceil((boxes[:, :2] + boxes[:, 2:] - rounding) * extent).astype(int).clip(first + 1, extent)
    filled = np.zeros((size[1], size[0]), np.uint8)
    for (left, top), (right, bottom) in zip(first, beyond, strict=True):
        filled[top:bottom, left:right] = 255
    return Image.fromarray(filled)


def _read(path: Path) -> Image.Image:
    try:
        image = Image.open(path, formats=("PNG",))
        image.load()
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())
        raise AnnotationError(f"{path}: cannot be read as PNG ({reason})") from None
    if image.mode not in _SINGLE_CHANNEL:
        raise AnnotationError(f"{path}: got an image of mode {image.mode}; expected one channel of instance numbers")
    return image


def _as_bytes(numbers: Image.Image, *, keep_unlisted: bool) -> Image.Image:
    """The same numbers in mode 'L'; a number past 255 is no detection's, and becomes 255 if kept, else 0."""
    if numbers.mode == "L":
        return numbers
    values = np.asarray(numbers)
    if numbers.mode in ("I;16", "I"):
        values = np.where(values > 255, 255 if keep_unlisted else 0, values)
    return Image.fromarray(values.astype(np.uint8))


def _table(ordinals: NDArray[np.uint8] | None) -> list[int]:
    """255 at each number to keep, for `Image.point`."""
    if ordinals is None:
        return list(_EVERY_INSTANCE)
    table = 256 * [0]
    for ordinal in ordinals.tolist():
        table[ordinal] = 255
    return table
