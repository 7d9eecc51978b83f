"""Random Pass: a low-pass or a high-pass filter at a random frequency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image
from scipy import signal

from wilds_targeted.audio.mel import draw_waveform
from wilds_targeted.audio.picture import Floats
from wilds_targeted.augmentation import Augmentation
from wilds_targeted.augmentations.pictures import demand_picture
from wilds_targeted.augmentations.sounds import LoadSound, in_size_of
from wilds_targeted.example import Example


@dataclass(frozen=True, slots=True)
class Drawn:
    """Which filter, and the frequency at which it lets half of the power through."""

    kind: Literal["lowpass", "highpass"]
    cutoff_hz: float


class RandomPass(Augmentation):
    """Filter the clip by a Butterworth filter: low-pass with probability `lowpass_p`, else high-pass.

    The cutoff is uniform from `min_hz` to `max_hz`. A filter of order n takes 6n dB an octave.

    Args:
        load_sound: Reads a clip.
        lowpass_p: The probability of the low-pass filter.
        min_hz: The lowest cutoff.
        max_hz: The highest cutoff.
        order: The filter's order.
    """

    def __init__(self, load_sound: LoadSound, lowpass_p: float, min_hz: float, max_hz: float, order: int) -> None:
        self.load_sound = load_sound
        self.lowpass_p = lowpass_p
        self.min_hz = min_hz
        self.max_hz = max_hz
        self.order = order

    def draw(self, example: Example, rng: np.random.Generator) -> Drawn:
        """Filter and cutoff."""
        demand_picture(example, "randompass")
        is_low = rng.random() < self.lowpass_p
        return Drawn("lowpass" if is_low else "highpass", float(rng.uniform(self.min_hz, self.max_hz)))

    def apply(self, example: Example, drawn: Drawn) -> Image.Image:
        """The picture of the filtered clip."""
        waveform, rate = self.load_sound(example.index)
        return in_size_of(example.x, draw_waveform(filtered(waveform, rate, drawn, self.order), rate))


def filtered(waveform: Floats, sample_rate: int, drawn: Drawn, order: int = 1) -> Floats:
    """The clip after that filter; a low-pass filter above half the sampling rate lets everything through."""
    if drawn.cutoff_hz >= sample_rate / 2:
        return waveform if drawn.kind == "lowpass" else np.zeros_like(waveform)
    sections = signal.butter(order, drawn.cutoff_hz, drawn.kind, fs=sample_rate, output="sos")
    result: Floats = signal.sosfilt(sections, waveform).astype(np.float32)
    return result
