"""MixUp (Zhang et al., 2018): convex combinations of pairs of inputs, and of their labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from wilds_targeted.augmentation import BatchAugmentation, Mixed
from wilds_targeted.example import Batch


@dataclass(frozen=True, slots=True)
class Pairing:
    """Who is mixed with whom in one batch: each example's partner, and the share of what stays its own."""

    partner: NDArray[np.int64]
    share: float


def draw_pairing(count: int, alpha: float, rng: np.random.Generator) -> Pairing:
    """A random permutation of the batch, and one share for all of it, from Beta(alpha, alpha)."""
    return Pairing(rng.permutation(count), float(rng.beta(alpha, alpha)))


class MixUp(BatchAugmentation):
    """x becomes share * x + (1 - share) * x of the partner; the label likewise.

    Args:
        alpha: Both parameters of the Beta distribution of the share: small ones make it lie near 0 or 1.
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def draw(self, batch: Batch, rng: np.random.Generator) -> Pairing:
        """Partners and share."""
        return draw_pairing(len(batch.x), self.alpha, rng)

    def apply(self, batch: Batch, drawn: Pairing) -> Mixed:
        """The mixed batch."""
        partner = torch.as_tensor(drawn.partner, device=batch.x.device)
        return Mixed(torch.lerp(batch.x[partner], batch.x, drawn.share), partner, drawn.share)
