"""SpecAugment (Park et al., 2019): hide bands and moments of the spectrogram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from wilds_targeted.audio.axes import CLIP_SECONDS, MELS, SAMPLE_RATE, count_frames
from wilds_targeted.audio.mel import draw_power, mel_power
from wilds_targeted.augmentation import Augmentation
from wilds_targeted.augmentations.pictures import demand_picture
from wilds_targeted.augmentations.sounds import LoadSound, in_size_of
from wilds_targeted.example import Example


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is hidden: intervals of mel bands and of frames, as (first, count)."""

    bands: tuple[tuple[int, int], ...]
    frames: tuple[tuple[int, int], ...]


class SpecAugment(Augmentation):
    """Silence k intervals of at most F mel bands and k of at most T frames.

    Each interval's width is uniform from 0 to F (or T) and its place uniform among those where it fits, as in Park et
    al., section 2. Time is not warped: the paper tunes k, F and T only. What is silenced has no power, so the picture
    shows it in the colour of the faintest sound.

    Args:
        load_sound: Reads a clip.
        k: How many intervals on each axis.
        mels: F, the largest width in mel bands.
        frames: T, the largest width in frames.
    """

    def __init__(self, load_sound: LoadSound, k: int, mels: int, frames: int) -> None:
        self.load_sound = load_sound
        self.k = k
        self.mels = mels
        self.frames = frames

    def draw(self, example: Example, rng: np.random.Generator) -> Drawn:
        """The intervals, for a clip of five seconds."""
        demand_picture(example, "specaugment")
        length = count_frames(int(CLIP_SECONDS * SAMPLE_RATE))
        return Drawn(
            tuple(_interval(MELS, self.mels, rng) for _ in range(self.k)),
            tuple(_interval(length, self.frames, rng) for _ in range(self.k)),
        )

    def apply(self, example: Example, drawn: Drawn) -> Image.Image:
        """The picture of the clip with these intervals silenced."""
        waveform, rate = self.load_sound(example.index)
        power = mel_power(waveform, rate)
        for first, count in drawn.bands:
            power[first : first + count] = 0
        for first, count in drawn.frames:
            power[:, first : first + count] = 0
        return in_size_of(example.x, draw_power(power, rate))


def _interval(length: int, widest: int, rng: np.random.Generator) -> tuple[int, int]:
    count = int(rng.integers(min(widest, length) + 1))
    return int(rng.integers(length - count + 1)), count
