"""The simulation word by word as the paper defines it: every example is drawn. `simulation` is checked against it."""

from __future__ import annotations

import numpy as np

from wilds_targeted.theory.setting import Augmentation, Domains, Floats, LinearSetting
from wilds_targeted.theory.simulation import Products


def train_products(
    setting: LinearSetting, domains: Domains, count: int, copies: int, rng: np.random.Generator
) -> dict[Augmentation, Products]:
    """Draw training examples, augment them ``copies`` times in every way, and multiply."""
    examples = setting.draw_examples(domains, count, rng)
    products = {}
    for augmentation in Augmentation:
        passes = 1 if augmentation == Augmentation.NONE else copies
        xx, xy = np.zeros((setting.p, setting.p)), np.zeros(setting.p)
        # One pass at a time: all at once take gigabytes.
        for _ in range(passes):
            augmented = setting.augment(examples, augmentation, rng)
            xx += augmented.x.T @ augmented.x
            xy += augmented.x.T @ augmented.y
        products[augmentation] = Products(xx, xy, passes * count)
    return products


def mean_squared_errors(
    setting: LinearSetting, domains: Domains, count: int, thetas: Floats, rng: np.random.Generator
) -> Floats:
    """Draw a test set, and take the mean squared error of each model, one a column."""
    examples = setting.draw_examples(domains, count, rng)
    errors: Floats = np.mean((examples.y[:, None] - examples.x @ thetas) ** 2, axis=0)
    return errors
