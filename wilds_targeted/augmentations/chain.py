"""Several augmentations as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wilds_targeted.augmentation import Augmentation
from wilds_targeted.example import Example


class Chain(Augmentation):
    """Apply some augmentations one after the other, all with the one coin that a registered transform has.

    Everything is drawn for the example as it arrives; so a link's draw must not depend on what the links before it
    made of the picture.

    Args:
        links: In the order of application.
    """

    def __init__(self, links: Sequence[Augmentation]) -> None:
        self.links = tuple(links)

    def draw(self, example: Example, rng: np.random.Generator) -> tuple[Any, ...]:
        """What each link draws."""
        return tuple(link.draw(example, rng) for link in self.links)

    def apply(self, example: Example, drawn: tuple[Any, ...]) -> Any:
        """What the last link makes of what the others made."""
        for link, own in zip(self.links, drawn, strict=True):
            example = Example(link.apply(example, own), example.y, example.metadata, example.index)
        return example.x
