"""CutMix (Yun et al., 2019): a rectangle of one input is pasted into another, and labels mix by its area."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from wilds_targeted.augmentation import BatchAugmentation, Mixed
from wilds_targeted.augmentations.boxes import area, box_around
from wilds_targeted.augmentations.mixup import draw_pairing
from wilds_targeted.errors import DataError
from wilds_targeted.example import Batch
from wilds_targeted.foreground import Box


@dataclass(frozen=True, slots=True)
class Cut:
    """Each example's partner, and the box that comes from it, the same in the whole batch."""

    partner: NDArray[np.int64]
    box: Box


def draw_cut(size: tuple[int, int], share: float, rng: np.random.Generator) -> Box:
    """A box in the image's proportions that leaves that share of it, around a random centre.

    What lies outside of the image is cut off, so the image may keep more than the share.

    Args:
        size: Width and height of the image.
        share: How much of it the box would leave if it lay within.
        rng: Draws the centre.
    """
    width, height = size
    side = math.sqrt(1 - share)
    return box_around(size, (width * side, height * side), (rng.uniform(0, width), rng.uniform(0, height)))


class CutMix(BatchAugmentation):
    """Paste a box of the partner; the label's share is that of the pixels, as they are after clipping.

    Args:
        alpha: Both parameters of the Beta distribution of the share that is aimed at; 1 makes it uniform.
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def draw(self, batch: Batch, rng: np.random.Generator) -> Cut:
        """Partners and box."""
        if batch.x.ndim != 4:
            raise DataError(
                f"cutmix works on batches of pictures (examples, channels, height, width); this data set gives the "
                f"shape {tuple(batch.x.shape)}."
            )
        height, width = batch.x.shape[-2:]
        pairing = draw_pairing(len(batch.x), self.alpha, rng)
        return Cut(pairing.partner, draw_cut((width, height), pairing.share, rng))

    def apply(self, batch: Batch, drawn: Cut) -> Mixed:
        """The mixed batch."""
        height, width = batch.x.shape[-2:]
        left, top, right, bottom = drawn.box
        partner = torch.as_tensor(drawn.partner, device=batch.x.device)
        x = batch.x.clone()
        x[:, :, top:bottom, left:right] = batch.x[partner, :, top:bottom, left:right]
        return Mixed(x, partner, 1 - area(drawn.box) / (width * height))
