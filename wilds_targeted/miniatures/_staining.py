"""From stain to colour and back: Beer-Lambert's law, and how one hospital's laboratory differs from another's.

A section is two maps of concentration, hematoxylin (nuclei) and eosin (everything else). Light that passes is
``white * exp(-concentration @ vectors)``. All that a laboratory and its scanner do to the colour is in `Stain`; the
tissue knows nothing of it, and it knows nothing of the tissue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wilds_targeted.augmentations.stains import OD_MATRIX
from wilds_targeted.miniatures._painting import Floats

Doubles = npt.NDArray[np.float64]

OD_VECTORS: Doubles = OD_MATRIX[:2]
"""Optical density of hematoxylin and eosin in red, green and blue."""


@dataclass(frozen=True)
class Stain:
    """One way to stain and scan.

    Attributes:
        vectors: Optical density in red, green and blue of a unit of hematoxylin and of eosin, each of length 1.
        scale: By what the concentrations of hematoxylin and eosin are multiplied.
        shift: What is then added to them: stain that clings to everything.
        white: Red, green and blue of the empty glass, in [0, 1].
    """

    vectors: Doubles
    scale: Doubles
    shift: Doubles
    white: Doubles

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Stain:
        """A hospital's own, from the one distribution that all hospitals share."""
        vectors = np.clip(REFERENCE.vectors + rng.normal(0, 0.06, (2, 3)), 0.02, None)
        return cls(
            vectors=_unit(vectors),
            scale=np.exp(rng.normal(0, 0.22, 2)),
            shift=rng.uniform(0, 0.12, 2),
            white=rng.uniform(0.86, 0.98) * np.exp(rng.normal(0, 0.02, 3)),
        )

    def stronger(self, log_factors: Doubles) -> Stain:
        """The same stain, taken up more or less: the logarithms of two factors, of hematoxylin and of eosin."""
        return replace(self, scale=self.scale * np.exp(log_factors))

    def render(self, concentrations: Floats) -> Floats:
        """Rows x columns x RGB of a section given as rows x columns x (hematoxylin, eosin), before rounding."""
        taken_up = concentrations * self.scale.astype(np.float32) + self.shift.astype(np.float32)
        light: Floats = self.white.astype(np.float32) * np.exp(-(taken_up @ self.vectors.astype(np.float32)))
        return light

    def recover(self, pixels: Floats) -> Floats:
        """The concentrations that `render` was given, by least squares over the three channels."""
        density = -np.log(np.maximum(pixels, 1e-6) / self.white)
        taken_up = density @ np.linalg.pinv(self.vectors)
        concentrations: Floats = ((taken_up - self.shift) / self.scale).astype(np.float32)
        return concentrations


def _unit(vectors: Doubles) -> Doubles:
    lengths: Doubles = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths


REFERENCE = Stain(_unit(OD_VECTORS), np.ones(2), np.zeros(2), np.ones(3))
"""The stain of the book, on clear glass."""
