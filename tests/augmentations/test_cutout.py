"""Cutout: the square by hand, its law, and how it spares animals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from wilds_targeted import Example
from wilds_targeted.augmentations.boxes import covered_share
from wilds_targeted.augmentations.cutout import CUTOUT_FILL, Cutout
from wilds_targeted.errors import DataError
from wilds_targeted.foreground import Box

SIZE = (40, 30)


def example(mode: str = "RGB") -> Example:
    return Example(Image.new(mode, SIZE, 7), torch.tensor(1), None, 5)


class Known:
    """Boxes of row 5, in an image of that size."""

    def __init__(self, *boxes: Box) -> None:
        self.known = boxes

    def boxes(self, row: int, size: tuple[int, int]) -> tuple[Box, ...]:
        assert (row, size) == (5, SIZE)
        return self.known


def test_the_square_by_hand() -> None:
    original = example()
    pixels = np.asarray(Cutout().apply(original, (1, 2, 4, 5))).astype(int)
    expected = np.zeros((30, 40, 3), int)
    expected[..., 0] = 7  # `Image.new` with one number fills the first channel
    expected[2:5, 1:4] = CUTOUT_FILL
    assert (pixels == expected).all()
    assert original.x.getpixel((2, 3)) == (7, 0, 0), "the original is left as it was"


def test_a_grey_picture_stays_grey() -> None:
    cut = Cutout().apply(example("L"), (0, 0, 2, 2))
    # 0.299 * 125 + 0.587 * 123 + 0.114 * 114 = 122.6
    assert (cut.mode, cut.getpixel((0, 0)), cut.getpixel((3, 3))) == ("L", 123, 7)


def test_sides_go_from_nothing_to_half_of_the_width() -> None:
    rng = np.random.default_rng(0)
    boxes = np.array([Cutout().draw(example(), rng) for _ in range(4000)])
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    inside = (boxes[:, 0] > 0) & (boxes[:, 1] > 0) & (boxes[:, 2] < 40) & (boxes[:, 3] < 30)
    assert width.max() == height.max() == 20
    assert abs(width - height)[inside].max() <= 1
    # A centre within s / 2 of an edge loses s / 4 on average: s^2 / (8 * 40) at each of two edges, for a uniform s.
    assert width.mean() == pytest.approx(10 - (400 / 3) / (4 * 40), abs=0.25)


def hidden(cutout: Cutout, boxes: tuple[Box, ...], draws: int = 1000) -> list[float]:
    rng = np.random.default_rng(1)
    return [max(covered_share(box, cutout.draw(example(), rng)) for box in boxes) for _ in range(draws)]


def test_of_a_thousand_draws_hardly_one_hides_more_than_half_of_an_animal() -> None:
    """Three draws leave (share of bad places)^3: what a single draw does to the animal is measured beside it."""
    animal: tuple[Box, ...] = ((16, 11, 24, 19),)
    plain = np.mean(np.array(hidden(Cutout(), animal)) > 0.5)
    aware = np.mean(np.array(hidden(Cutout(Known(*animal)), animal)) > 0.5)
    assert 0.03 < plain < 0.2
    # A square of the largest side is bad with probability about 0.25, three of them in a row with about 0.015.
    assert aware < 0.01
    assert aware < plain / 5


def test_every_animal_counts() -> None:
    two: tuple[Box, ...] = ((2, 2, 8, 8), (30, 20, 36, 26))
    aware = np.mean(np.array(hidden(Cutout(Known(*two)), two)) > 0.5)
    assert aware < 0.03
    assert aware < np.mean(np.array(hidden(Cutout(), two)) > 0.5) / 4
    only_first = np.mean(np.array(hidden(Cutout(Known(two[0])), (two[1],))) > 0.5)
    assert only_first > 0.02, "the animal that nobody told of is hidden as often as chance has it"


class Scripted:
    """A generator whose uniform numbers are written down: the first is the side, then pairs for centres."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def uniform(self, low: float, high: float) -> float:
        return self.numbers.pop(0)


def drawn(cutout: Cutout, *numbers: float) -> Box:
    rng: Any = Scripted(*numbers)
    return cutout.draw(example(), rng)


def test_the_first_good_place_is_taken() -> None:
    animal = Cutout(Known((10, 10, 20, 20)))
    # side 0.25 * 40 = 10: around (15, 15) it hides everything, around (20, 15) just half
    assert drawn(animal, 0.25, 15, 15, 20, 15) == (15, 10, 25, 20)
    assert drawn(Cutout(), 0.25, 15, 15) == (10, 10, 20, 20)


def test_of_three_bad_places_the_least_bad_is_taken() -> None:
    animal = Cutout(Known((10, 10, 20, 20)))
    # 90 %, 70 % and 100 % hidden
    assert drawn(animal, 0.25, 16, 15, 18, 15, 15, 15) == (13, 10, 23, 20)


def test_an_image_without_known_animals_gets_plain_cutout() -> None:
    assert drawn(Cutout(Known()), 0.25, 15, 15) == (10, 10, 20, 20)


def test_inputs_that_are_no_pictures_are_refused() -> None:
    with pytest.raises(DataError, match="cutout works on PIL images; this data set gives a Tensor"):
        Cutout().draw(Example(torch.zeros(3), 1, None, 0), np.random.default_rng())
