"""What stands between the scene and the file: the light of the hour, and the camera's own optics.

Light is noise (it depends on neither camera nor species). The tint is spurious: fixed for a camera, and drawn from one
distribution whatever the habitat, so that it gives the camera away but not the habitat. Both act on the whole picture,
the animal included, as they do in a real camera: whoever cuts an animal out and pastes it elsewhere takes its
camera's tint along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wilds_targeted.miniatures._painting import Floats

_LUMINANCE = np.array([0.30, 0.59, 0.11], np.float32)
_DAWN, _DUSK = 5.5, 18.5


def is_night(hour: float) -> bool:
    """Whether the camera works by infrared flash at that hour."""
    return not _DAWN < hour < _DUSK


@dataclass(frozen=True)
class Tint:
    """One camera's sensor and lens.

    Attributes:
        gain: Of red, green and blue.
        saturation: 0 is grey, 1 is as it was.
        contrast: The exponent around middle grey.
        vignette: How much darker corners are than the centre.
        noise: Standard deviation of the sensor's noise.
    """

    gain: tuple[float, float, float]
    saturation: float
    contrast: float
    vignette: float
    noise: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Tint:
        """A camera, wherever it will hang."""
        red, green, blue = np.exp(rng.normal(0, (0.07, 0.05, 0.07))).tolist()
        saturation, contrast, vignette = rng.uniform((0.6, 0.85, 0.0), (1.15, 1.2, 0.3)).tolist()
        return cls((red, green, blue), saturation, contrast, vignette, float(rng.uniform(0.008, 0.025)))


def develop(radiance: Floats, tint: Tint, hour: float, rng: np.random.Generator) -> Floats:
    """The picture that the camera saves of a scene in full light, before rounding."""
    rows, columns, _ = radiance.shape
    y, x = np.ogrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j]
    radius = ((x * x + y * y) / 2).astype(np.float32)[..., None]
    grey = (radiance @ _LUMINANCE)[..., None]
    gain = np.array(tint.gain, np.float32) * np.float32(np.exp(rng.normal(0, 0.07)))
    if is_night(hour):
        # The flash is weak towards the edges, and infrared has no colour.
        lit = grey * (0.85 - 0.45 * radius)
    else:
        sun = float(np.sin(np.pi * (hour - _DAWN) / (_DUSK - _DAWN)))
        low = (1 - sun) ** 2
        gain *= (0.62 + 0.42 * sun) * np.array([1 + 0.15 * low, 1, 1 - 0.18 * low], np.float32)
        lit = grey + tint.saturation * (radiance - grey)
    toned: Floats = 0.5 * np.clip(lit * (2 * gain), 0, 2.4) ** np.float32(tint.contrast)
    toned *= 1 - tint.vignette * radius
    toned += tint.noise * rng.standard_normal(grey.shape, np.float32)
    return toned
