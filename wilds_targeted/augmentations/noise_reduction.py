"""Noise reduction by spectral gating, against an empty clip of the same microphone."""

from __future__ import annotations

import numpy as np
from PIL import Image

from wilds_targeted.audio.mel import draw_waveform
from wilds_targeted.audio.picture import Floats
from wilds_targeted.augmentation import Augmentation
from wilds_targeted.augmentations.backgrounds import BackgroundPools
from wilds_targeted.augmentations.pictures import demand_picture
from wilds_targeted.augmentations.pools import PoolOfField
from wilds_targeted.augmentations.sounds import LoadSound, in_size_of
from wilds_targeted.example import Example


class NoiseReduction(Augmentation):
    """Take out of the clip what an empty clip of its microphone sounds like.

    Each frequency is let through only while it is louder than in the empty clip by some standard deviations
    (stationary spectral gating, by the package ``noisereduce``). An empty clip, and one of a microphone that has no
    empty training clip, is left as it is.

    Args:
        pools: The empty training clips, by microphone.
        pool_of: For an example the key of its microphone; None for an empty one.
        load_sound: Reads a clip.
        smooth_hz: Over how many hertz the gate is smoothed.
    """

    def __init__(
        self, pools: BackgroundPools, pool_of: PoolOfField, load_sound: LoadSound, smooth_hz: float = 500.0
    ) -> None:
        self.pools = pools
        self.pool_of = pool_of
        self.load_sound = load_sound
        self.smooth_hz = smooth_hz

    def draw(self, example: Example, rng: np.random.Generator) -> int | None:
        """The row of the empty clip; None for nothing to do."""
        demand_picture(example, "noisereduce")
        key = self.pool_of(example)
        return None if key is None else self.pools.draw(key, rng)

    def apply(self, example: Example, drawn: int | None) -> Image.Image:
        """The picture of the clip without that noise."""
        original: Image.Image = example.x
        if drawn is None:
            return original
        waveform, rate = self.load_sound(example.index)
        noise, _ = self.load_sound(drawn)
        return in_size_of(original, draw_waveform(gated(waveform, noise, rate, self.smooth_hz), rate))


_WINDOW = 1024


def gated(waveform: Floats, noise: Floats, sample_rate: int, smooth_hz: float = 500.0) -> Floats:
    """The clip, spectrally gated against that noise; as it is where either is too short for a spectrum."""
    from noisereduce import reduce_noise  # brings joblib and a second of imports

    if min(len(waveform), len(noise)) < _WINDOW:
        return waveform

    reduced: Floats = reduce_noise(
        y=waveform, sr=sample_rate, y_noise=noise, stationary=True, freq_mask_smooth_hz=smooth_hz, n_fft=_WINDOW
    )
    return np.nan_to_num(reduced.astype(np.float32, copy=False))
