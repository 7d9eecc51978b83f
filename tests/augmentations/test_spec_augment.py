"""SpecAugment by hand: what is hidden, how wide, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from benchmarks.spectrogram import clip
from wilds_targeted import Example
from wilds_targeted.audio.mel import decibels, draw_waveform, mel_power
from wilds_targeted.audio.picture import color_indices, draw_colors
from wilds_targeted.augmentations.spec_augment import Drawn, SpecAugment

WAVEFORM = clip(np.random.default_rng(0))
EXAMPLE = Example(draw_waveform(WAVEFORM), 1, None, 4)


def load(row: int) -> tuple[np.ndarray, int]:
    assert row == 4
    return WAVEFORM, 32_000


def test_masks_of_no_width_change_nothing() -> None:
    picture = SpecAugment(load, 1, 80, 80).apply(EXAMPLE, Drawn(((5, 0),), ((9, 0),)))
    assert np.array_equal(np.asarray(picture), np.asarray(EXAMPLE.x))


def test_what_is_hidden() -> None:
    drawn = Drawn(((20, 10), (100, 5)), ((50, 30),))
    pixels = np.asarray(SpecAugment(load, 2, 80, 80).apply(EXAMPLE, drawn))
    power = mel_power(WAVEFORM, 32_000)
    power[20:30] = 0
    power[100:105] = 0
    power[:, 50:80] = 0
    assert np.array_equal(pixels, np.asarray(draw_colors(color_indices(decibels(power)))))
    faintest = (pixels == (68, 1, 84)).all(-1)
    # Frames 50 to 79 of 313 are at columns 80 to 127 of 500.
    assert faintest[:, 80:127].all()
    assert not faintest[:, 70:79].all(axis=0).any()
    # 15 of 128 bands: each of them as high as its place on the axis.
    assert faintest.all(axis=1).sum() > 30


def test_the_draws() -> None:
    rng = np.random.default_rng(0)
    augmentation = SpecAugment(load, 3, 20, 60)
    draws = [augmentation.draw(EXAMPLE, rng) for _ in range(2000)]
    for name, widest, length in (("bands", 20, 128), ("frames", 60, 313)):
        intervals = np.array([interval for draw in draws for interval in getattr(draw, name)])
        assert intervals.shape == (6000, 2), "k on each axis"
        first, count = intervals.T
        assert (count.min(), count.max()) == (0, widest)
        assert count.mean() == pytest.approx(widest / 2, abs=0.5)
        assert first.min() == 0
        assert (first + count).max() == length


def test_widths_beyond_the_axis() -> None:
    rng = np.random.default_rng(1)
    draws = [SpecAugment(load, 1, 500, 900).draw(EXAMPLE, rng) for _ in range(300)]
    assert max(sum(draw.bands[0]) for draw in draws) == 128
    assert max(sum(draw.frames[0]) for draw in draws) == 313


def test_another_size_is_kept() -> None:
    small = Example(EXAMPLE.x.resize((100, 80)), 1, None, 4)
    picture = SpecAugment(load, 1, 80, 80)(small, np.random.default_rng(0))
    assert isinstance(picture, Image.Image)
    assert (picture.size, picture.mode) == ((100, 80), "RGB")
