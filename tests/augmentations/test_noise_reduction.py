"""Noise reduction: a call stays, the microphone's noise goes, and who has no empty clip is left alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wilds_targeted import Example
from wilds_targeted.audio.mel import draw_waveform
from wilds_targeted.augmentations.backgrounds import BackgroundPools
from wilds_targeted.augmentations.noise_reduction import NoiseReduction, gated
from wilds_targeted.augmentations.pools import PoolOfField

RATE = 32_000
TIME = np.arange(5 * RATE) / RATE


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.02, len(TIME)).astype(np.float32)


CALL = (0.3 * np.sin(2 * np.pi * 3000 * TIME) * ((TIME > 2) & (TIME < 3))).astype(np.float32)
SOUNDS = {0: noise(0), 1: noise(1), 2: noise(2) + CALL, 3: noise(3) + CALL}


@pytest.fixture
def augmentation() -> NoiseReduction:
    # Rows 0 and 1 are empty clips of microphone 7; microphone 8 has none.
    pools = BackgroundPools([0, 1], [7, 7], {7: [7]})
    return NoiseReduction(pools, PoolOfField(0), lambda row: (SOUNDS[row], RATE))


def example(row: int, label: int, microphone: int) -> Example:
    return Example(draw_waveform(SOUNDS[row]), torch.tensor(label), torch.tensor([microphone]), row)


def test_the_noise_goes_and_the_call_stays() -> None:
    reduced = gated(SOUNDS[2], SOUNDS[0], RATE)
    quiet, calling = slice(RATE, 3 * RATE // 2), slice(int(2.2 * RATE), int(2.8 * RATE))
    assert reduced.shape == SOUNDS[2].shape
    assert reduced.dtype == np.float32
    assert np.mean(reduced[quiet] ** 2) < 0.01 * np.mean(SOUNDS[2][quiet] ** 2)
    # A tone is narrower than the smoothing of the gate, so it is let through in part.
    assert np.mean(reduced[calling] ** 2) > 0.05 * np.mean(CALL[calling] ** 2)
    assert np.corrcoef(reduced[calling], CALL[calling])[0, 1] > 0.99


def test_the_empty_clip_is_of_the_same_microphone(augmentation: NoiseReduction) -> None:
    rng = np.random.default_rng(0)
    assert {augmentation.draw(example(2, 1, 7), rng) for _ in range(40)} == {0, 1}
    picture = augmentation.apply(example(2, 1, 7), 1)
    assert np.array_equal(np.asarray(picture), np.asarray(draw_waveform(gated(SOUNDS[2], SOUNDS[1], RATE))))


@pytest.mark.parametrize(("label", "microphone"), [(1, 8), (0, 7)])
def test_left_alone(augmentation: NoiseReduction, label: int, microphone: int) -> None:
    original = example(3, label, microphone)
    drawn = augmentation.draw(original, np.random.default_rng(0))
    assert drawn is None
    assert augmentation.apply(original, drawn) is original.x


@pytest.mark.parametrize("smooth_hz", [63.0, 16_000.0])
def test_the_smallest_and_the_largest_smoothing(smooth_hz: float) -> None:
    assert gated(SOUNDS[2], SOUNDS[0], RATE, smooth_hz).shape == SOUNDS[2].shape


def test_too_short_for_a_spectrum() -> None:
    assert gated(SOUNDS[2], SOUNDS[0][:700], RATE) is SOUNDS[2]


def test_silence_stays_silent() -> None:
    silence = np.zeros(5 * RATE, dtype=np.float32)
    assert not gated(silence, silence, RATE).any()
