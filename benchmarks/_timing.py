"""How these programs measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Milliseconds = NDArray[np.float64]
"""One row a round, one column an item."""


def interleaved(work: dict[str, Callable[[int], object]], items: Sequence[int], rounds: int) -> dict[str, Milliseconds]:
    """How long each kind of work takes for each item, in several rounds; the kinds take turns item by item.

    Taking turns lets whatever else the machine does fall on all kinds alike. Who comes first changes from item to item:
    the second finds the item's files in the processor's cache.
    """
    spent = {name: np.zeros((rounds, len(items))) for name in work}
    names = list(work)
    for turn in range(rounds):
        for position, item in enumerate(items):
            for name in names:
                start = time.perf_counter()
                work[name](item)
                spent[name][turn, position] = 1000 * (time.perf_counter() - start)
            names.append(names.pop(0))
    return spent


def best(spent: Milliseconds) -> float:
    """Milliseconds an item, each item's best round: what is left when nobody else uses the machine."""
    return float(spent.min(axis=0).mean())


def ratio(one: Milliseconds, other: Milliseconds, digits: int = 2) -> str:
    """The ratio of two kinds of work, by the items' best rounds, and the range of the rounds' own ratios."""
    by_round = one.sum(axis=1) / other.sum(axis=1)
    whole, low, high = (f"{value:.{digits}f}" for value in (best(one) / best(other), by_round.min(), by_round.max()))
    return f"{whole} (single rounds from {low} to {high})"


def promise(words: str, holds: bool) -> bool:
    """Print whether it holds."""
    print(f"  {words}: {'holds' if holds else 'DOES NOT HOLD'}")
    return holds
