"""The contract of an augmentation: draw first, then apply."""

from __future__ import annotations

from typing import Any

import numpy as np

from wilds_targeted.example import Example


class Augmentation:
    """One augmentation of one example.

    `draw` takes all the randomness it needs from the generator it is given; `apply` is a pure function of the example
    and what was drawn. So a draw can be looked at, frozen and repeated, and nothing is hidden from a run that resumes.
    Subclasses write both and are picklable, since loaders send them to worker processes.
    """

    def draw(self, example: Example, rng: np.random.Generator) -> Any:
        """Choose what `apply` will do to this example."""
        raise NotImplementedError

    def apply(self, example: Example, drawn: Any) -> Any:
        """The augmented ``x``, of the same type and size as ``example.x``, which is left as it was."""
        raise NotImplementedError

    def __call__(self, example: Example, rng: np.random.Generator) -> Any:
        """Draw and apply."""
        return self.apply(example, self.draw(example, rng))
