"""Rectangles by hand."""

from __future__ import annotations

import pytest

from wilds_targeted.augmentations.boxes import area, box_around, covered_share


@pytest.mark.parametrize(
    ("extent", "centre", "box"),
    [
        ((4, 4), (5, 3), (3, 1, 7, 5)),
        ((4, 2), (5, 3), (3, 2, 7, 4)),
        ((4, 4), (0, 0), (0, 0, 2, 2)),
        ((4, 4), (10, 6), (8, 4, 10, 6)),
        ((40, 40), (5, 3), (0, 0, 10, 6)),
        ((4, 4), (9, 3), (7, 1, 10, 5)),
        ((0, 0), (5, 3), (5, 3, 5, 3)),
        ((0.4, 0.4), (5.2, 3.2), (5, 3, 5, 3)),
    ],
)
def test_a_box_around_a_centre_stays_within_the_image(
    extent: tuple[float, float], centre: tuple[float, float], box: tuple[int, int, int, int]
) -> None:
    assert box_around((10, 6), extent, centre) == box


def test_area() -> None:
    assert area((2, 1, 5, 3)) == 6
    assert area((2, 1, 2, 3)) == 0
    assert area((5, 1, 2, 3)) == 0


@pytest.mark.parametrize(
    ("cover", "share"),
    [
        ((0, 0, 10, 10), 1.0),
        ((2, 2, 4, 6), 0.5),  # the left half of a box of 4 x 4
        ((5, 5, 9, 9), 1 / 16),
        ((6, 2, 9, 6), 0.0),  # touches its right edge
        ((7, 7, 9, 9), 0.0),
    ],
)
def test_how_much_of_a_box_is_covered(cover: tuple[int, int, int, int], share: float) -> None:
    assert covered_share((2, 2, 6, 6), cover) == share


def test_a_box_without_pixels_is_never_covered() -> None:
    assert covered_share((2, 2, 2, 6), (0, 0, 9, 9)) == 0.0
