"""LISA (Yao et al., 2022), within labels: mix an example with one of the same class from another domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image

from wilds_targeted.augmentation import Augmentation
from wilds_targeted.augmentations.cutmix import draw_cut
from wilds_targeted.augmentations.partners import Partners
from wilds_targeted.augmentations.pictures import demand_picture, in_mode_of
from wilds_targeted.example import Example
from wilds_targeted.foreground import Box


@dataclass(frozen=True, slots=True)
class Drawn:
    """The partner's row, how much of the picture stays the example's own, and for CutMix the partner's box."""

    partner: int
    share: float
    box: Box | None = None


class _Lisa(Augmentation):
    """What both forms share: the partner. An example without one stays as it is.

    Args:
        partners: By class and domain.
        domain_column: The domain's column in the metadata.
        load_image: Loads the image of a row of the data set, for this mix alone.
        alpha: Both parameters of the Beta distribution of the share.
    """

    def __init__(
        self, partners: Partners, domain_column: int, load_image: Callable[[int], Image.Image], alpha: float
    ) -> None:
        self.partners = partners
        self.domain_column = domain_column
        self.load_image = load_image
        self.alpha = alpha

    def draw(self, example: Example, rng: np.random.Generator) -> Drawn | None:
        """Partner and share."""
        demand_picture(example, "LISA")
        partner = self.partners.draw(int(example.y), int(example.metadata[self.domain_column]), rng)
        return None if partner is None else Drawn(partner, float(rng.beta(self.alpha, self.alpha)))

    def apply(self, example: Example, drawn: Drawn | None) -> Image.Image:
        """The mixed picture, in its own mode and size."""
        original: Image.Image = example.x
        if drawn is None:
            return original
        partner = self.load_image(drawn.partner).convert("RGB")
        if partner.size != original.size:
            partner = partner.resize(original.size, Image.Resampling.BILINEAR)
        return in_mode_of(original, self.mix(original.convert("RGB"), partner, drawn))

    def mix(self, image: Image.Image, partner: Image.Image, drawn: Drawn) -> Image.Image:
        """Two RGB pictures of one size as one; both are copies that may be written to."""
        raise NotImplementedError


class LisaMixUp(_Lisa):
    """Every pixel becomes share * its own + (1 - share) * the partner's; the class is the same."""

    def mix(self, image: Image.Image, partner: Image.Image, drawn: Drawn) -> Image.Image:
        """The weighted average, rounded down."""
        return Image.blend(partner, image, drawn.share)


class LisaCutMix(_Lisa):
    """A box of the partner is pasted; the class is the same."""

    def draw(self, example: Example, rng: np.random.Generator) -> Drawn | None:
        """Partner and box."""
        drawn = super().draw(example, rng)
        if drawn is None:
            return None
        return Drawn(drawn.partner, drawn.share, draw_cut(example.x.size, drawn.share, rng))

    def mix(self, image: Image.Image, partner: Image.Image, drawn: Drawn) -> Image.Image:
        """The picture with the partner's box."""
        assert drawn.box is not None
        image.paste(partner.crop(drawn.box), drawn.box)
        return image
