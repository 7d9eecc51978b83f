"""Mel spectrograms equal librosa's."""

from __future__ import annotations

import librosa
import numpy as np
import pytest

from wilds_targeted.audio.axes import HOP, MELS
from wilds_targeted.audio.mel import decibels, mel_power


def noise(samples: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=samples) * np.linspace(0.01, 0.3, samples)).astype(np.float32)


@pytest.mark.parametrize(("samples", "rate"), [(160_000, 32_000), (96_000, 32_000), (110_250, 22_050), (700, 32_000)])
def test_equals_librosa(samples: int, rate: int) -> None:
    waveform = noise(samples)
    power = mel_power(waveform, rate)
    theirs = librosa.feature.melspectrogram(y=librosa.util.normalize(waveform), sr=rate, n_mels=MELS)
    assert power.shape == theirs.shape == (MELS, 1 + samples // HOP)
    difference = np.abs(decibels(power) - librosa.power_to_db(theirs, ref=np.max))
    assert difference.max() < 1e-3


def test_decibels_are_librosas() -> None:
    power = np.random.default_rng(0).gamma(0.01, size=(MELS, 20)).astype(np.float32)
    assert np.array_equal(decibels(power), librosa.power_to_db(power, ref=np.max))


def test_decibels_by_hand() -> None:
    power = np.array([[1.0, 100.0], [1e-3, 1e-12]], dtype=np.float32)
    assert decibels(power) == pytest.approx(np.array([[-20.0, 0.0], [-50.0, -80.0]]))


def test_loudness_makes_no_difference() -> None:
    waveform = noise(32_000)
    assert np.allclose(mel_power(waveform, 32_000), mel_power(waveform / 50, 32_000), rtol=1e-4)


def test_silence_is_even() -> None:
    level = decibels(mel_power(np.zeros(32_000, dtype=np.float32), 32_000))
    assert np.array_equal(level, np.zeros_like(level))


def test_a_tone_is_in_its_band() -> None:
    time = np.arange(160_000) / 32_000
    level = decibels(mel_power(np.sin(2 * np.pi * 3000 * time).astype(np.float32), 32_000))
    centres = librosa.mel_frequencies(MELS + 2, fmin=0, fmax=16_000)[1:-1]
    loudest = level.mean(axis=1).argmax()
    assert abs(centres[loudest] - 3000) < 100
