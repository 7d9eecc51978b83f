"""Products of tables of Gaussians, without the tables."""

from __future__ import annotations

import numpy as np

from wilds_targeted.theory.setting import Floats


def draw_noise(count: int, columns: int, rng: np.random.Generator) -> Floats:
    """Rows whose products have the law of ``count`` rows of independent standard Gaussians; at most ``columns`` rows.

    With Bartlett's decomposition: a triangle of Gaussians, on its diagonal square roots of chi-squared numbers.
    """
    if count <= columns:
        return rng.standard_normal((count, columns))
    rows = np.triu(rng.standard_normal((columns, columns)), 1)
    np.fill_diagonal(rows, np.sqrt(rng.chisquare(count - np.arange(columns))))
    return rows
