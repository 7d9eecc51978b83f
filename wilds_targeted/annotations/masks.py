"""Masks and boxes as foregrounds: where in an image the animals are.

A mask file holds numbers, not shades: a pixel is the position, from 1, of a detection in its image's list. Numbers are
never interpolated: between instances 2 and 6 there is no instance 4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wilds_targeted.annotations.build import BOX_STEPS
from wilds_targeted.errors import AnnotationError
from wilds_targeted.example import UNREADABLE
from wilds_targeted.foreground import Box, Foreground

_SINGLE_CHANNEL = ("L", "P", "1", "I;16", "I")


def load_mask(
    path: Path, size: tuple[int, int] | None, ordinals: NDArray[np.uint8] | None, listed: int
) -> Foreground | None:
    """The chosen instances of a mask file.

    Args:
        path: The PNG.
        size: Width and height of the image; None for the file's own.
        ordinals: The instances to keep, as `AnnotationTable.instances` gives them; None for every one.
        listed: How many detections are listed for the image; -1 where that is not known.

    Returns:
        Where they are, or None where nothing of these instances is in it. With no ordinals at all the file is not
        opened.

    Raises:
        AnnotationError: The file cannot be read, is not of one channel, or has an instance that is not listed.
    """
    if ordinals is not None and len(ordinals) == 0:
        return None
    numbers = _read(path)
    box = numbers.getbbox()
    if box is None:
        return None
    # Only where there is anything: most of a mask is background. And before resizing, which may lose an instance.
    values = np.asarray(numbers.crop(box))
    largest = int(values.max())
    if 0 <= listed < largest:
        raise AnnotationError(
            f"{path}: has instance {largest}, but the detections file lists {listed} for this image: "
            "masks and detections are not of the same release"
        )
    if size is not None and numbers.size != size:
        numbers = numbers.resize(size, Image.Resampling.NEAREST)
        box = numbers.getbbox()
        if box is None:
            return None
        values = np.asarray(numbers.crop(box))
    chosen = _chosen(values, ordinals)
    return Foreground(Image.fromarray(chosen), box, numbers.size) if chosen.any() else None


def instance_boxes(path: Path, size: tuple[int, int]) -> list[Box]:
    """The smallest rectangle around each instance of a mask file, in an image of that width and height.

    Raises:
        AnnotationError: The file cannot be read, or is not of one channel.
    """
    numbers = _read(path)
    if numbers.size != size:
        numbers = numbers.resize(size, Image.Resampling.NEAREST)
    values = np.asarray(numbers)
    boxes = []
    for number in np.unique(values[values > 0]):
        box = Image.fromarray(values == number).getbbox()
        assert box is not None, "the number is in the mask"
        boxes.append(box)
    return boxes


def _chosen(values: NDArray[Any], ordinals: NDArray[np.uint8] | None) -> NDArray[np.bool_]:
    """Which of these numbers are among the ordinals; with None, which are not 0."""
    if ordinals is None:
        return values.astype(bool)
    wanted = np.zeros(256, bool)
    wanted[ordinals] = True
    if values.dtype != np.uint8:  # 16 bits may hold numbers past 255, which are no detection's
        values = np.where(values > 255, 0, values).astype(np.uint8)
    chosen: NDArray[np.bool_] = wanted[values]
    return chosen


def boxes_mask(boxes: NDArray[np.floating[Any]], size: tuple[int, int]) -> Foreground | None:
    """Filled boxes: every pixel that a box touches, and at least one pixel each; None without any box.

    Args:
        boxes: x, y, width and height relative to the image, one row each, as `AnnotationTable.boxes` gives them.
        size: Width and height of the image.
    """
    filled = np.zeros((size[1], size[0]), np.uint8)
    for left, top, right, bottom in pixel_boxes(boxes, size):
        filled[top:bottom, left:right] = 255
    return Foreground.of(Image.fromarray(filled))


def pixel_boxes(boxes: NDArray[np.floating[Any]], size: tuple[int, int]) -> list[Box]:
    """The boxes in whole pixels: every pixel that a box touches, and at least one.

    Args:
        boxes: x, y, width and height relative to the image, one row each, as `AnnotationTable.boxes` gives them.
        size: Width and height of the image.
    """
    # A box's edge between two pixels must not touch the next one only because the table rounds to 1/65535.
    rounding = 1 / BOX_STEPS
    extent = np.array(size)
    first = np.floor((boxes[:, :2] + rounding) * extent).astype(int).clip(0, extent - 1)
    beyond = np.ceil((boxes[:, :2] + boxes[:, 2:] - rounding) * extent).astype(int).clip(first + 1, extent)
    return [(left, top, right, bottom) for left, top, right, bottom in np.hstack([first, beyond]).tolist()]


def _read(path: Path) -> Image.Image:
    try:
        image = Image.open(path, formats=("PNG",))
        image.load()
    except UNREADABLE as error:
        reason = " ".join(str(error).split())
        raise AnnotationError(f"{path}: cannot be read as PNG ({reason})") from None
    if image.mode not in _SINGLE_CHANNEL:
        raise AnnotationError(f"{path}: got an image of mode {image.mode}; expected one channel of instance numbers")
    return image
