"""A chain: every link draws for the example as it arrives, and gets what the links before it made."""

from __future__ import annotations

from typing import Any

import numpy as np

from wilds_targeted import Augmentation, Example
from wilds_targeted.augmentations.chain import Chain


class Add(Augmentation):
    def draw(self, example: Example, rng: np.random.Generator) -> int:
        return int(rng.integers(1, 9))

    def apply(self, example: Example, drawn: int) -> Any:
        return example.x + drawn


class Double(Augmentation):
    def draw(self, example: Example, rng: np.random.Generator) -> int:
        return int(example.x)

    def apply(self, example: Example, drawn: int) -> Any:
        return 2 * example.x + 1000 * drawn


def test_links_in_their_order() -> None:
    chain = Chain([Add(), Double()])
    example = Example(5, 1, None, 7)
    added, seen = chain.draw(example, np.random.default_rng(0))
    assert seen == 5, "drawn for what arrived"
    assert chain.apply(example, (added, seen)) == 2 * (5 + added) + 5000
    assert example.x == 5


def test_the_same_generator_serves_all_links() -> None:
    draws = Chain([Add(), Add(), Add()]).draw(Example(0, 0, None, 0), np.random.default_rng(3))
    rng = np.random.default_rng(3)
    assert draws == tuple(int(rng.integers(1, 9)) for _ in range(3))
