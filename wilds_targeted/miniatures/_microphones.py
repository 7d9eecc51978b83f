"""The microphones: what each adds to the sound of its place, and what it takes away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wilds_targeted.miniatures._aviary import SAMPLING_RATE, Doubles, Floats

_HARMONICS = 40


@dataclass(frozen=True)
class Microphone:
    """One microphone with its electronics.

    Attributes:
        gain_db: From the soundscape's units to full scale.
        hiss_db: Its noise at 3 kHz, over the middle of all microphones.
        hiss_tilt: How the noise rises with each octave, in decibel.
        low_hz: Below this it hears less and less.
        high_hz: Above this it hears less and less.
        resonance_hz: What it hears best.
        resonance_db: How much better.
        mains_hz: Of the hum.
        hum_db: The power of each harmonic of the mains.
        whine_hz: Of a tone that never ends.
        whine_db: Its power.
        neighbour_hz: The middle of the noise of something near that never rests, a brook or a fan.
        neighbour_db: Its density there.
    """

    gain_db: float
    hiss_db: float
    hiss_tilt: float
    low_hz: float
    high_hz: float
    resonance_hz: float
    resonance_db: float
    mains_hz: int
    hum_db: tuple[float, ...]
    whine_hz: int
    whine_db: float
    neighbour_hz: float
    neighbour_db: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Microphone:
        """Any microphone, whether models will train on it or not."""
        low, high, resonance, whine, neighbour = np.exp(
            rng.uniform(np.log((60, 7000, 1500, 1500, 350)), np.log((350, 16_000, 9000, 12_000, 2500)))
        ).tolist()
        fall = rng.uniform(6, 14)
        # Rectifiers hum in even harmonics, transformers in all; each line is as strong as the wiring has it.
        hum = rng.uniform(16, 42) - fall * np.log2(np.arange(1, _HARMONICS + 1)) / 2 + rng.normal(0, 6, _HARMONICS)
        return cls(
            gain_db=float(rng.uniform(-116, -106)),
            hiss_db=float(rng.uniform(-7, 7)),
            hiss_tilt=float(rng.uniform(-3, 3)),
            low_hz=low,
            high_hz=high,
            resonance_hz=resonance,
            resonance_db=float(rng.uniform(3, 10)),
            mains_hz=int(rng.choice((50, 60))),
            hum_db=tuple(hum.tolist()),
            whine_hz=round(whine),
            whine_db=float(rng.uniform(5, 36)),
            neighbour_hz=neighbour,
            neighbour_db=float(rng.uniform(-10, 14)),
        )

    def response(self, hertz: Doubles) -> Doubles:
        """What it makes of an amplitude, by frequency."""
        hertz = np.maximum(hertz, 1)
        low = 1 / np.sqrt(1 + (self.low_hz / hertz) ** 4)
        high = 1 / np.sqrt(1 + (hertz / self.high_hz) ** 6)
        bump = np.exp(-0.5 * (np.log2(hertz / self.resonance_hz) / 0.35) ** 2)
        heard: Doubles = low * high * 10 ** (self.resonance_db * bump / 20)
        return heard

    def noise(self, hertz: Doubles) -> Doubles:
        """The power density of its hiss and of its neighbour, by frequency."""
        octaves = np.log2(np.maximum(hertz, 30) / 3000)
        hiss = 10 ** ((self.hiss_db + self.hiss_tilt * octaves) / 10)
        bump = np.exp(-0.5 * (np.log2(np.maximum(hertz, 30) / self.neighbour_hz) / 0.3) ** 2)
        both: Doubles = hiss + 10 ** (self.neighbour_db / 10) * bump
        return both

    def tones(self, samples: int, rng: np.random.Generator) -> Floats:
        """Hum and whine. All their frequencies are whole hertz, so that a second of them can be repeated."""
        seconds = np.arange(SAMPLING_RATE) / SAMPLING_RATE
        lines = [(self.mains_hz * k, level) for k, level in enumerate(self.hum_db, 1)]
        sound = np.zeros(SAMPLING_RATE)
        for hertz, level in [*lines, (self.whine_hz, self.whine_db)]:
            sound += np.sqrt(2) * 10 ** (level / 20) * np.sin(2 * np.pi * (hertz * seconds + rng.uniform()))
        return np.resize(sound.astype(np.float32), samples)
