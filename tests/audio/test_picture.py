"""The picture is the one that the authors drew, pixel for pixel; and a call's box lies where the call is seen."""

from __future__ import annotations

import subprocess
import sys

import librosa
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.spectrogram import clip, drawn, librosa_decibels
from wilds_targeted.audio.axes import SIZE, mel_frequencies, pixel_box, relative_box
from wilds_targeted.audio.mel import draw_waveform
from wilds_targeted.audio.picture import color_indices, draw_colors


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_drawn_picture(seed: int) -> None:
    level = librosa_decibels(clip(np.random.default_rng(seed)))
    picture = draw_colors(color_indices(level))
    assert (picture.size, picture.mode) == ((SIZE, SIZE), "RGB")
    assert np.array_equal(np.asarray(picture), drawn(level))


@pytest.mark.parametrize(("frames", "rate"), [(2, 32_000), (101, 32_000), (701, 32_000), (217, 22_050)])
def test_equals_the_drawn_picture_of_other_lengths_and_rates(frames: int, rate: int) -> None:
    level = np.random.default_rng(frames).uniform(-80, 0, (128, frames)).astype(np.float32)
    assert np.array_equal(np.asarray(draw_colors(color_indices(level), rate)), drawn(level, rate))


def test_a_clip_of_one_frame_has_a_picture() -> None:
    column = np.random.default_rng(0).uniform(-80, 0, (128, 1)).astype(np.float32)
    pixels = np.asarray(draw_colors(color_indices(column)))
    assert (pixels == pixels[:, :1]).all()
    assert np.array_equal(pixels, np.asarray(draw_colors(color_indices(np.repeat(column, 3, axis=1)))))


def test_a_waveform_gives_its_picture() -> None:
    waveform = clip(np.random.default_rng(9))
    difference = (np.asarray(draw_waveform(waveform)) != drawn(librosa_decibels(waveform))).any(-1)
    assert difference.mean() < 1e-3, "a value on the border between two colours may fall to either side"


def test_silence_has_the_first_colour() -> None:
    pixels = np.asarray(draw_waveform(np.zeros(160_000, dtype=np.float32)))
    assert (pixels == (68, 1, 84)).all()


def tone(start: float, end: float, low: float, high: float) -> np.ndarray:
    """A sweep, alone in the clip."""
    time = np.arange(160_000) / 32_000
    inside = (time >= start) & (time < end)
    phase = 2 * np.pi * np.cumsum(np.where(inside, low + (high - low) * (time - start) / (end - start), 0)) / 32_000
    return (np.sin(phase) * inside).astype(np.float32)


@pytest.mark.parametrize(
    ("start", "end", "low", "high"),
    [(1.0, 2.0, 2000, 4000), (0.2, 4.8, 300, 900), (3.0, 3.5, 6000, 12_000), (0.0, 5.0, 900, 1200)],
)
def test_a_box_holds_its_call(start: float, end: float, low: float, high: float) -> None:
    loud = np.asarray(draw_waveform(tone(start, end, low, high)).convert("L")) > 190
    rows, columns = np.flatnonzero(loud.any(axis=1)), np.flatnonzero(loud.any(axis=0))
    left, top, right, bottom = pixel_box(relative_box(start, end, low, high))
    # Within a window's width in time and a band or two in frequency.
    assert abs(left - columns[0]) <= 8
    assert abs(right - 1 - columns[-1]) <= 8
    assert abs(top - rows[0]) <= 14
    assert abs(bottom - 1 - rows[-1]) <= 14


def test_a_box_by_hand() -> None:
    x, y, width, height = relative_box(1.0, 2.0, 1000, 4000)
    # 313 frames of 16 ms, the first centred on 0; the axis is 2 f up to 1000 Hz and 1000 (2 + log2(f / 1000)) above.
    assert x == pytest.approx(1.008 / 5.008)
    assert width == pytest.approx(1 / 5.008)
    bottom, top = -2 * 14.521658957804014, 1000 * (2 + np.log2(16.236060710829763))
    assert y == pytest.approx((top - 4000) / (top - bottom))
    assert height == pytest.approx(2000 / (top - bottom))


def test_the_whole_clip_is_within_the_picture() -> None:
    left, top, right, bottom = pixel_box(relative_box(0, 5, 0, 16_000))
    assert (left, right) == (0, SIZE)
    assert 0 <= top < 3
    assert SIZE - 3 <= bottom <= SIZE


@given(
    st.floats(0, 5),
    st.floats(0, 5),
    st.floats(0, 16_000),
    st.floats(0, 16_000),
    st.integers(1, 600),
    st.integers(1, 600),
)
def test_boxes_stay_in_the_picture(a: float, b: float, c: float, d: float, width: int, height: int) -> None:
    box = pixel_box(relative_box(min(a, b), max(a, b), min(c, d), max(c, d)), (width, height))
    assert 0 <= box[0] <= box[2] <= width
    assert 0 <= box[1] <= box[3] <= height


@pytest.mark.parametrize(("bands", "highest"), [(128, 16_000.0), (40, 900.0), (64, 11_025.0)])
def test_mel_frequencies_are_librosas(bands: int, highest: float) -> None:
    assert mel_frequencies(bands, highest) == pytest.approx(librosa.mel_frequencies(bands, fmin=0, fmax=highest))


def test_boxes_need_neither_torch_nor_librosa() -> None:
    code = "import sys, wilds_targeted.audio.picture; print({'torch', 'librosa'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
