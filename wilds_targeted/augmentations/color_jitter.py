"""Colour jitter: the hue turns and, if asked for, the saturation changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image
from torchvision.transforms import functional

from wilds_targeted.audio.picture import find_colors, palette
from wilds_targeted.augmentation import Augmentation
from wilds_targeted.augmentations.pictures import demand_picture, in_mode_of
from wilds_targeted.example import Example


@dataclass(frozen=True, slots=True)
class Drawn:
    """By how much of a full turn the hue turns, and the factor of the saturation."""

    hue: float
    saturation: float


class ColorJitter(Augmentation):
    """Turn the hue by U(-hue, hue) and scale the saturation by U(max(0, 1 - saturation), 1 + saturation).

    Args:
        hue: The largest turn of the hue, as a share of a full turn: 0.5 allows every hue.
        saturation: How far the saturation's factor may be from 1; 0 leaves it as it is.
    """

    def __init__(self, hue: float = 0.5, saturation: float = 0.0) -> None:
        self.hue = hue
        self.saturation = saturation
        palette()  # imports matplotlib: once here, and not in every worker

    def draw(self, example: Example, rng: np.random.Generator) -> Drawn:
        """Turn and factor."""
        demand_picture(example, "color_jitter")
        factor = rng.uniform(max(0.0, 1 - self.saturation), 1 + self.saturation)
        return Drawn(float(rng.uniform(-self.hue, self.hue)), float(factor))

    def apply(self, example: Example, drawn: Drawn) -> Image.Image:
        """The picture in its new colours, in its own mode."""
        original: Image.Image = example.x
        image = original.convert("RGB")
        places = find_colors(image)
        if places is None:
            return in_mode_of(original, self._jitter(image, drawn))
        # What happens to a pixel depends on its colour alone, and a spectrogram has 256 of them: a tenth of the time.
        colors = self._jitter(Image.frombytes("RGB", (256, 1), palette()), drawn)
        jittered = Image.fromarray(places)
        jittered.putpalette(colors.tobytes())
        return in_mode_of(original, jittered.convert("RGB"))

    def _jitter(self, image: Image.Image, drawn: Drawn) -> Image.Image:
        if self.saturation > 0:
            image = functional.adjust_saturation(image, drawn.saturation)
        turned: Image.Image = functional.adjust_hue(image, drawn.hue)
        return turned
