"""What a place sounds like without birds: insect choruses, wind, leaves, surf and rain.

A soundscape is a sum of layers. Each is noise of one spectrum (power density over frequency) whose strength changes
in time; so the whole is one map of power over time and frequency, from which the sound is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from wilds_targeted.miniatures._aviary import SAMPLING_RATE, Floats

FRAME = 1024
HOP = FRAME // 2
FREQUENCIES: Floats = np.fft.rfftfreq(FRAME, 1 / SAMPLING_RATE).astype(np.float32)
_FRAMES_PER_SECOND = SAMPLING_RATE / HOP

Layer = tuple[Floats, Floats]
"""Strength in each frame, and power density at each of `FREQUENCIES`."""


@dataclass(frozen=True)
class Insect:
    """A chorus: where it sings (hertz), how wide (relative), its pulses a second, and how loud it is (decibel)."""

    pitch: float
    width: float
    pulses: float
    level_db: float


@dataclass(frozen=True)
class Habitat:
    """What is to be heard in a region.

    Levels in decibel are those of the middle of the layer's spectrum, over the microphones' middle hiss.

    Attributes:
        insects: The choruses that live there.
        choruses: How many of them sing in a recording, at least and at most.
        wind_db: Low noise in gusts, and leaves that rustle in them.
        leaves_db: The leaves.
        surf_db: Broad noise in swells.
        rain_db: Broad noise that hardly changes.
        drops_db: Single drops close by.
        drops: How many of these in a second.
    """

    insects: tuple[Insect, ...]
    choruses: tuple[int, int]
    wind_db: float
    leaves_db: float
    surf_db: float
    rain_db: float
    drops_db: float
    drops: float


# One a release, in their order: Hawaii, Southwest Amazon Basin, Northeastern United States.
HABITATS = (
    Habitat((Insect(8200, 0.03, 3.0, 6),), (0, 1), 16, -5, 12, 2, 19, 5.0),
    Habitat(
        (
            Insect(5300, 0.035, 5.0, 15),
            Insect(7000, 0.03, 1.6, 17),
            Insect(9300, 0.04, 9.0, 18),
            Insect(12000, 0.05, 2.5, 18),
        ),
        (2, 4),
        10,
        -6,
        -30,
        -4,
        16,
        0.4,
    ),
    Habitat((Insect(4400, 0.02, 2.2, 6),), (0, 1), 30, 8, -30, -6, 14, 0.1),
)


def compose(habitat: Habitat, frames: int, rng: np.random.Generator) -> Iterator[Layer]:
    """The layers of one recording: the habitat's usual mixture, with levels of this recording's own."""
    gusts = _swelling(frames, 0.5, 1.0, rng)
    level = rng.normal(0, 1.5, 5).tolist()
    yield _strength(habitat.wind_db + level[0], gusts**2), _wind()
    yield _strength(habitat.leaves_db + level[1], gusts**1.5 * _flicker(frames, rng)), _band(4200, 1.1)
    yield _strength(habitat.surf_db + level[2], _surf(frames, rng)), _slope(-3.5, 180, 9000)
    yield _strength(habitat.rain_db + level[3], _swelling(frames, 0.05, 0.3, rng)), _slope(0, 900, 13_000)
    for pitch in (1800, 3600, 7000):
        yield _drops(frames, habitat.drops / 3, habitat.drops_db + level[4], rng), _band(pitch, 0.8)
    count = int(rng.integers(habitat.choruses[0], habitat.choruses[1] + 1))
    for which in rng.permutation(len(habitat.insects))[:count].tolist():
        yield _chorus(habitat.insects[which], frames, rng)


def draw_noise(power: Floats, rng: np.random.Generator) -> Floats:
    """Noise of that power density, frames x frequencies: half-overlapping windows whose squares add up to one.

    Returns:
        ``HOP * (frames - 1)`` samples.
    """
    spectrum = rng.standard_normal((*power.shape, 2), np.float32).view(np.complex64)[..., 0]
    spectrum *= np.sqrt(power * np.float32(SAMPLING_RATE * FRAME / 4))
    windows = np.fft.irfft(spectrum, FRAME).astype(np.float32, copy=False)
    windows *= np.sin(np.pi * (np.arange(FRAME, dtype=np.float32) + np.float32(0.5)) / FRAME).astype(np.float32)
    return (windows[1:, :HOP] + windows[:-1, HOP:]).ravel()


def _strength(level_db: float, envelope: Floats) -> Floats:
    """An envelope of power whose mean is that level."""
    scaled: Floats = (10 ** (level_db / 10) * envelope / max(float(envelope.mean()), 1e-9)).astype(np.float32)
    return scaled


def _smooth(frames: int, hertz: float, rng: np.random.Generator) -> Floats:
    """A random line of mean 0 and deviation 1 that changes no faster than that."""
    knots = rng.standard_normal(max(4, int(frames / _FRAMES_PER_SECOND * 2 * hertz) + 4))
    places = np.linspace(0, len(knots) - 1, frames) + 1e-9
    left = np.minimum(places.astype(int), len(knots) - 2)
    share = (1 - np.cos(np.pi * (places - left))) / 2
    mixed = knots[left] * (1 - share) + knots[left + 1] * share
    line: Floats = (mixed / np.sqrt(share**2 + (1 - share) ** 2)).astype(np.float32)
    return line


def _swelling(frames: int, hertz: float, size: float, rng: np.random.Generator) -> Floats:
    """Strength that comes and goes, no faster than that."""
    swelling: Floats = np.exp(np.float32(size) * _smooth(frames, hertz, rng))
    return swelling


def _flicker(frames: int, rng: np.random.Generator) -> Floats:
    """Quick, irregular changes."""
    return _swelling(frames, 9, 0.6, rng)


def _surf(frames: int, rng: np.random.Generator) -> Floats:
    """Waves that rise quickly and fade, every few seconds."""
    phase = np.cumsum(np.exp(0.2 * _smooth(frames, 0.2, rng))) / _FRAMES_PER_SECOND / rng.uniform(2.6, 4.2)
    wave = (phase + rng.uniform()) % 1
    height = np.where(wave < 0.25, wave / 0.25, np.exp(-3.0 * (wave - 0.25)))
    return (0.08 + height**2 * _swelling(frames, 0.2, 0.3, rng)).astype(np.float32)


def _drops(frames: int, rate: float, level_db: float, rng: np.random.Generator) -> Floats:
    """So many drops a second at random times, around that level."""
    drops = np.zeros(frames, np.float32)
    count = int(rng.poisson(rate * frames / _FRAMES_PER_SECOND))
    levels = rng.normal(level_db, 3, count).astype(np.float32)
    np.add.at(drops, rng.integers(frames, size=count), 10 ** (levels / 10))
    return drops


def _chorus(insect: Insect, frames: int, rng: np.random.Generator) -> Layer:
    pitch, pulses = insect.pitch * rng.uniform(0.96, 1.04), insect.pulses * rng.uniform(0.85, 1.15)
    seconds = np.arange(frames) / _FRAMES_PER_SECOND
    pulse = 0.5 + 0.5 * np.sin(2 * np.pi * (pulses * seconds + rng.uniform()))
    envelope = (0.06 + pulse**2) * _swelling(frames, 0.15, 0.35, rng)
    return _strength(insect.level_db + rng.normal(0, 1.5), envelope.astype(np.float32)), _band(
        pitch, 1.4 * insect.width
    )


def _band(middle: float, octaves: float) -> Floats:
    """A bump around a frequency; so wide is its deviation."""
    return np.exp(-0.5 * (np.log2(np.maximum(FREQUENCIES, 20) / middle) / octaves) ** 2).astype(np.float32)


def _wind() -> Floats:
    return (1 / (1 + (FREQUENCIES / 160) ** 2) ** 1.6).astype(np.float32)


def _slope(db_per_octave: float, low: float, high: float) -> Floats:
    """A tilted spectrum between two frequencies, 0 decibel at one kilohertz."""
    octaves = np.log2(np.maximum(FREQUENCIES, 20) / 1000)
    ends = 1 / (1 + (low / np.maximum(FREQUENCIES, 20)) ** 4) / (1 + (FREQUENCIES / high) ** 6)
    return (10 ** (db_per_octave * octaves / 10) * ends).astype(np.float32)
