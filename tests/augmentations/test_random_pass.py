"""Random Pass: the filters' gains by hand, and the draws."""

from __future__ import annotations

import numpy as np
import pytest

from wilds_targeted import Example
from wilds_targeted.audio.mel import draw_waveform
from wilds_targeted.augmentations.random_pass import Drawn, RandomPass, filtered

RATE = 32_000
TIME = np.arange(5 * RATE) / RATE


def tone(hertz: float) -> np.ndarray:
    return np.sin(2 * np.pi * hertz * TIME).astype(np.float32)


def gain_db(waveform: np.ndarray, drawn: Drawn, order: int = 1) -> float:
    """In the second half, where the filter has settled."""
    before, after = waveform[len(waveform) // 2 :], filtered(waveform, RATE, drawn, order)[len(waveform) // 2 :]
    return float(10 * np.log10(np.mean(after**2) / np.mean(before**2)))


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("kind", ["lowpass", "highpass"])
def test_half_of_the_power_at_the_cutoff(kind: str, order: int) -> None:
    assert gain_db(tone(500), Drawn(kind, 500.0), order) == pytest.approx(-3.01, abs=0.05)


@pytest.mark.parametrize(
    ("kind", "hertz", "expected"),
    [
        ("lowpass", 50, 0.0),
        ("lowpass", 2000, -12.3),  # two octaves above the cutoff: 1 / (1 + 4^2) of the power
        ("highpass", 125, -12.3),  # two octaves below
        ("highpass", 8000, 0.0),
    ],
)
def test_six_decibels_an_octave(kind: str, hertz: float, expected: float) -> None:
    assert gain_db(tone(hertz), Drawn(kind, 500.0)) == pytest.approx(expected, abs=0.15)


def test_a_cutoff_beyond_what_is_sampled() -> None:
    waveform = tone(300)
    assert np.array_equal(filtered(waveform, 16_000, Drawn("lowpass", 9000.0)), waveform)
    assert not filtered(waveform, 16_000, Drawn("highpass", 9000.0)).any()


def test_the_draws() -> None:
    rng = np.random.default_rng(0)
    augmentation = RandomPass(lambda row: (tone(300), RATE), 0.25, 10, 990, 1)
    draws = [augmentation.draw(Example(draw_waveform(tone(300)), 1, None, 0), rng) for _ in range(500)]
    assert np.mean([draw.kind == "lowpass" for draw in draws]) == pytest.approx(0.25, abs=0.06)
    cutoffs = np.array([draw.cutoff_hz for draw in draws])
    assert (cutoffs.min(), cutoffs.max(), cutoffs.mean()) == pytest.approx((10, 990, 500), abs=40)


def test_the_picture_is_that_of_the_filtered_sound() -> None:
    waveform = tone(300) + tone(5000)
    example = Example(draw_waveform(waveform), 1, None, 3)
    drawn = Drawn("highpass", 900.0)
    picture = RandomPass(lambda row: (waveform, RATE), 0.5, 10, 990, 2).apply(example, drawn)
    assert np.array_equal(np.asarray(picture), np.asarray(draw_waveform(filtered(waveform, RATE, drawn, 2))))
    assert not np.array_equal(np.asarray(picture), np.asarray(example.x))
