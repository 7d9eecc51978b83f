"""Tissue by its stains: the colour deconvolution of Ruifrok and Johnston (2001)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

OD_MATRIX = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]])
"""Optical densities of hematoxylin, eosin and DAB (rows) in red, green and blue, as published, to two decimals.

The rows have length one up to that rounding (0.998, 0.999 and 1.003): this is the normalized matrix.
"""

INVERSE = np.linalg.inv(OD_MATRIX)

EPS = 1e-6
"""Added to a pixel's value: keeps black from having an infinite density.

Compiled code holds a copy of it, and numba notices only changes of ``_stain_tables.py``: touch that file, too.
"""


def separate_stains(pixels: ArrayLike, white_level: float = 1.0) -> NDArray[np.float64]:
    """The densities of hematoxylin, eosin and DAB in pixels (..., 3) with values from 0 to 255.

    >>> separate_stains(255 * np.exp(-OD_MATRIX[0]), white_level=255).round(3).tolist() == [1, 0, 0]
    True
    """
    density: NDArray[np.float64] = -np.log((np.asarray(pixels, dtype=np.float64) + EPS) / white_level)
    return density @ INVERSE
