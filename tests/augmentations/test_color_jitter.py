"""Colour jitter by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import functional

from wilds_targeted import Example
from wilds_targeted.audio.mel import draw_waveform
from wilds_targeted.audio.picture import find_colors
from wilds_targeted.augmentations.color_jitter import ColorJitter, Drawn
from wilds_targeted.errors import DataError


def example(colour: tuple[int, int, int], mode: str = "RGB") -> Example:
    return Example(Image.new("RGB", (2, 2), colour).convert(mode), torch.tensor(0), None, 0)


@pytest.mark.parametrize(
    ("turn", "colour", "expected"),
    [
        (0.0, (200, 0, 0), (200, 0, 0)),
        (1 / 3, (200, 0, 0), (0, 200, 0)),  # red, a third of a turn on: green
        (-1 / 3, (200, 0, 0), (0, 0, 200)),
        (0.5, (200, 0, 0), (0, 200, 200)),  # the opposite: cyan
        (0.25, (90, 90, 90), (90, 90, 90)),  # grey has no hue
    ],
)
def test_the_hue_turns(turn: float, colour: tuple[int, int, int], expected: tuple[int, int, int]) -> None:
    original = example(colour)
    pixel = ColorJitter().apply(original, Drawn(turn, 1.0)).getpixel((0, 0))
    assert pixel == pytest.approx(expected, abs=5)  # Pillow holds a hue in 256 steps
    assert original.x.getpixel((0, 0)) == colour


def test_the_saturation_is_left_alone_unless_asked_for() -> None:
    assert ColorJitter(hue=0).apply(example((200, 0, 0)), Drawn(0, 0.0)).getpixel((0, 0)) == (200, 0, 0)
    # without any saturation: the grey of 0.299 * 200
    assert ColorJitter(hue=0, saturation=2).apply(example((200, 0, 0)), Drawn(0, 0.0)).getpixel((0, 0)) == (60, 60, 60)


def test_the_draws() -> None:
    rng = np.random.default_rng(0)
    draws = [ColorJitter(0.25, 2).draw(example((1, 2, 3)), rng) for _ in range(3000)]
    turns, factors = np.array([draw.hue for draw in draws]), np.array([draw.saturation for draw in draws])
    assert (turns.min(), turns.max(), turns.mean()) == pytest.approx((-0.25, 0.25, 0), abs=0.01)
    assert (factors.min(), factors.max(), factors.mean()) == pytest.approx((0, 3, 1.5), abs=0.05)


def test_grey_pictures_stay_grey_and_other_inputs_are_refused() -> None:
    assert ColorJitter().apply(example((9, 9, 9), "L"), Drawn(0.3, 1)).mode == "L"
    with pytest.raises(DataError, match="color_jitter works on PIL images"):
        ColorJitter().draw(Example(torch.zeros(3), 0, None, 0), np.random.default_rng())


def test_spectrograms_by_their_palette_equal_the_pixel_by_pixel_way() -> None:
    picture = draw_waveform(np.random.default_rng(0).normal(size=160_000).astype(np.float32))
    assert find_colors(picture) is not None
    for turn, factor in ((0.3, 1.0), (-0.45, 2.4), (0.0, 0.0)):
        jittered = ColorJitter(0.5, 2).apply(Example(picture, 0, None, 0), Drawn(turn, factor))
        expected = functional.adjust_hue(functional.adjust_saturation(picture, factor), turn)
        assert np.array_equal(np.asarray(jittered), np.asarray(expected))


def test_a_picture_with_one_other_colour_is_no_spectrogram() -> None:
    picture = draw_waveform(np.random.default_rng(0).normal(size=160_000).astype(np.float32))
    picture.putpixel((123, 456), (1, 2, 3))
    assert find_colors(picture) is None
    jittered = ColorJitter().apply(Example(picture, 0, None, 0), Drawn(0.2, 1.0))
    assert np.array_equal(np.asarray(jittered), np.asarray(functional.adjust_hue(picture, 0.2)))
