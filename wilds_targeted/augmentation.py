"""The contract of an augmentation, of one example or of a batch: draw first, then apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wilds_targeted.example import Batch, Example

if TYPE_CHECKING:
    import torch


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


@dataclass(frozen=True, slots=True)
class Mixed:
    """A batch in which every example is mixed with a partner of the same batch.

    Args:
        x: The mixed inputs, in the form of the batch's.
        partner: For each example the position of its partner in the batch.
        share: How much of an example's label stays its own, from 0 to 1; the rest is its partner's.
    """

    x: torch.Tensor
    partner: torch.Tensor
    share: float


class BatchAugmentation:
    """One augmentation of a whole batch, with the same division of labour as `Augmentation`.

    It works in the training process, on the device that holds the batch.
    """

    def draw(self, batch: Batch, rng: np.random.Generator) -> Any:
        """Choose what `apply` will do to this batch."""
        raise NotImplementedError

    def apply(self, batch: Batch, drawn: Any) -> Mixed:
        """The mixed batch; ``batch`` itself is left as it was."""
        raise NotImplementedError

    def __call__(self, batch: Batch, rng: np.random.Generator) -> Mixed:
        """Draw and apply."""
        return self.apply(batch, self.draw(batch, rng))
