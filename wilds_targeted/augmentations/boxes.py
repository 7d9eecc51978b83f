"""Rectangles in whole pixels."""

from __future__ import annotations

from wilds_targeted.foreground import Box


def box_around(size: tuple[int, int], extent: tuple[float, float], centre: tuple[float, float]) -> Box:
    """The rectangle of that width and height around a centre, in whole pixels, as far as it lies within the image.

    Args:
        size: Width and height of the image.
        extent: Width and height of the rectangle.
        centre: Its centre, as (x, y).

    >>> box_around((100, 50), extent=(20, 20), centre=(95, 25))
    (85, 15, 100, 35)
    """
    width, height = size
    x, y = centre
    left, right = (min(max(round(x + half), 0), width) for half in (-extent[0] / 2, extent[0] / 2))
    top, bottom = (min(max(round(y + half), 0), height) for half in (-extent[1] / 2, extent[1] / 2))
    return left, top, right, bottom


def area(box: Box) -> int:
    """How many pixels it holds.

    >>> area((1, 2, 4, 6))
    12
    """
    left, top, right, bottom = box
    return max(0, right - left) * max(0, bottom - top)


def covered_share(box: Box, cover: Box) -> float:
    """How much of a box another one covers, from 0 to 1; 0 for a box without pixels.

    >>> covered_share((0, 0, 4, 4), cover=(2, 0, 9, 2))
    0.25
    """
    common = (max(box[0], cover[0]), max(box[1], cover[1]), min(box[2], cover[2]), min(box[3], cover[3]))
    return area(common) / area(box) if area(box) else 0.0
