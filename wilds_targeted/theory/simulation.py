"""Ridge regression on finite data: section 4.3 and appendix D of the paper, drawn exactly and fast.

The definition draws N examples, augments them five times, and multiplies matrices of 5 N rows again and again. But a
model sees a table of examples only through the table's products with itself, and those of Gaussian tables can be drawn
directly. Two facts do it:

- Rotating a table's rows changes no product. Let H be a matrix with r orthonormal columns, and W a table of n rows of
  independent standard Gaussians. In a basis that begins with H's columns, W is again such a table, and what is fixed
  (multiples of H) has r rows that are not zero. The n - r rows below are pure noise.
- The products of pure noise are a Wishart matrix, which is L L' for a triangular L of few random numbers (`wishart`).

So a table of 100,000 examples becomes one of a few thousand rows (`Table`) with the same joint law of all products, and
adding fresh features to it, as augmentations do, needs no more. Errors on a test set are drawn in the same spirit:
given the domain, the errors of several models on an example are jointly Gaussian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wilds_targeted.theory.setting import Augmentation, Domains, Floats, LinearSetting
from wilds_targeted.theory.wishart import draw_noise


@dataclass(frozen=True)
class Table:
    """A table of examples, rotated and cut to the rows that matter; all products are those of a table of examples.

    Args:
        x: Rows of inputs.
        y: Their labels.
        count: How many examples it stands for.
    """

    x: Floats
    y: Floats
    count: int


@dataclass(frozen=True)
class Products:
    """What least squares needs of a table.

    Args:
        xx: Inputs with inputs, summed over the examples.
        xy: Inputs with labels.
        count: How many examples.
    """

    xx: Floats
    xy: Floats
    count: int


def draw_table(setting: LinearSetting, domains: Domains, count: int, rng: np.random.Generator) -> Table:
    """``count`` examples, each of a domain drawn uniformly, as a `Table`."""
    sizes = rng.multinomial(count, np.full(len(domains), 1 / len(domains)))
    present = sizes > 0
    roots = np.sqrt(sizes[present])[:, None]
    # The last column is the noise of the labels. A domain's examples share their attributes: one row a domain, as
    # long as the square root of its size, holds all that is fixed.
    noise = np.concatenate(
        [
            rng.standard_normal((len(roots), setting.p + 1)),
            draw_noise(count - len(roots), setting.p + 1, rng),
        ]
    )
    x = noise[:, :-1]
    y = x[:, setting.obj] @ setting.beta_obj + setting.sigma_epsilon * noise[:, -1]
    x[:, setting.domain_dependent] *= np.sqrt(setting.sigma2)
    x[: len(roots), setting.domain_dependent] += roots * domains.attributes[present]
    y[: len(roots)] += roots[:, 0] * (domains.robust[present] @ setting.beta_robust)
    return Table(x, y, count)


def augmented_products(
    setting: LinearSetting, table: Table, augmentation: Augmentation, copies: int, rng: np.random.Generator
) -> Products:
    """The products of the examples after ``copies`` passes of the augmentation; of the examples themselves for none."""
    replaced = setting.replaced(augmentation)
    if not replaced.any():
        return Products(table.x.T @ table.x, table.x.T @ table.y, table.count)
    count = copies * table.count
    # What stays is repeated: the same products, ``copies`` times. Its triangle is the basis in which fresh features
    # are drawn.
    stays = np.sqrt(copies) * np.linalg.qr(np.column_stack([table.x[:, ~replaced], table.y]), mode="r")
    fresh = np.concatenate(
        [
            rng.standard_normal((len(stays), replaced.sum())),
            draw_noise(count - len(stays), int(replaced.sum()), rng),
        ]
    )
    fresh *= setting.marginal_deviations[replaced]
    x = np.zeros((len(fresh), setting.p))
    x[:, replaced] = fresh
    x[: len(stays), ~replaced] = stays[:, :-1]
    y = stays[:, -1]
    return Products(x.T @ x, x[: len(stays)].T @ y, count)


def train_products(
    setting: LinearSetting, domains: Domains, count: int, copies: int, rng: np.random.Generator
) -> dict[Augmentation, Products]:
    """The products of one draw of training examples, after ``copies`` passes of each augmentation."""
    table = draw_table(setting, domains, count, rng)
    return {
        augmentation: augmented_products(setting, table, augmentation, copies, rng) for augmentation in Augmentation
    }


def ridge_path(products: Products, penalties: Sequence[float]) -> Floats:
    """Ridge regression for each penalty, one column each: the minimizer of the mean squared error + penalty |theta|^2.

    One eigendecomposition serves all penalties.
    """
    values, vectors = np.linalg.eigh(products.xx / products.count)
    target = vectors.T @ (products.xy / products.count)
    # Rounding may leave eigenvalues that are 0 a little below it.
    shrunken = target[:, None] / (np.maximum(values, 0.0)[:, None] + np.asarray(penalties)[None, :])
    thetas: Floats = vectors @ shrunken
    return thetas


def mean_squared_errors(
    setting: LinearSetting, domains: Domains, count: int, thetas: Floats, rng: np.random.Generator
) -> Floats:
    """Mean squared errors of several models on one test set of ``count`` examples that none of them has seen.

    Args:
        setting: The law of the data.
        domains: Each example's is drawn uniformly of these.
        count: How many examples.
        thetas: One model a column.
        rng: Where the test set comes from.
    """
    # By how much each model's weight of an independent standard Gaussian misses: object and noise features, the
    # feature noise of the rest, and the label's.
    missed = -thetas.copy()
    missed[setting.obj] += setting.beta_obj[:, None]
    missed[setting.domain_dependent] *= np.sqrt(setting.sigma2)
    missed = np.concatenate([missed, np.full((1, thetas.shape[1]), setting.sigma_epsilon)])
    triangle = np.linalg.qr(missed, mode="r")
    by_domain = domains.robust @ setting.beta_robust
    bias = by_domain[:, None] - domains.attributes @ thetas[setting.domain_dependent]
    drawn = rng.integers(len(domains), size=count)
    errors = bias[drawn] + rng.standard_normal((count, len(triangle))) @ triangle
    mean: Floats = np.mean(errors**2, axis=0)
    return mean
