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


def draw_eigenvalues(count: int, size: int, rng: np.random.Generator) -> Floats:
    """Eigenvalues of 1/count sum_d z_d z_d' for standard Gaussian z_d of that size, those that must be 0 included.

    With the z_d as rows of Z, Z'Z and ZZ' have the same eigenvalues but for zeros. Rotating Z from both sides makes of
    it a table with two diagonals and leaves the eigenvalues as they are; each rotation turns what it clears into one
    length, whose square is chi-squared. Only those lengths are drawn, so thousands of features take a second.
    """
    from scipy.linalg import eigvalsh_tridiagonal

    short, long = sorted((count, size))
    diagonal = rng.chisquare(long - np.arange(short))
    above = rng.chisquare(np.arange(short - 1, 0, -1))
    products = diagonal.copy()
    products[1:] += above
    eigenvalues = np.zeros(size)
    # No eigenvalue is negative; rounding may make one that is almost 0 so.
    eigenvalues[:short] = np.maximum(eigvalsh_tridiagonal(products, np.sqrt(diagonal[:-1] * above)), 0) / count
    return eigenvalues
