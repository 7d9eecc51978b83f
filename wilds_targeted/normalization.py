"""What is taken out of an image's three channels before a model sees it."""

from __future__ import annotations

from typing import NamedTuple


class Normalization(NamedTuple):
    """Mean and standard deviation of red, green and blue, on a scale from 0 to 1."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]


IMAGENET = Normalization((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""What WILDS normalizes every image with."""

CLIP = Normalization((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
"""Those of OpenAI's training images; most of open_clip's models use them, too."""

INCEPTION = Normalization((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
"""From -1 to 1; SigLIP's models and some of open_clip's."""

UNIT = Normalization((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
"""From 0 to 1, as images are; MobileCLIP's models use it."""

NAMED = {"clip": CLIP, "imagenet": IMAGENET, "inception": INCEPTION, "unit": UNIT}
"""Those that a command line can ask for."""
