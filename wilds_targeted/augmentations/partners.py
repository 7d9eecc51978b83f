"""Examples of the same class from other domains, drawn in constant time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


class Partners:
    """The rows of a data set by class, and within a class by domain.

    They are sorted once: a class is one run of rows, and a domain a run within it. A draw is one number below the
    number of rows of the other domains, moved behind the own domain's run where it falls into it: no search, whatever
    the size of the data set. Every row of another domain is equally likely.

    Args:
        rows: The rows to draw from.
        classes: The class of each of these rows.
        domains: The domain of each.
    """

    def __init__(self, rows: ArrayLike, classes: ArrayLike, domains: ArrayLike) -> None:
        row = np.asarray(rows, dtype=np.int64)
        class_of_row = np.asarray(classes, dtype=np.int64)
        domain_of_row = np.asarray(domains, dtype=np.int64)
        order = np.lexsort((domain_of_row, class_of_row))
        self._rows = row[order]
        self._classes = _runs(class_of_row[order])
        both = np.stack([class_of_row[order], domain_of_row[order]], axis=1)
        self._domains = _runs(both)

    def draw(self, label: int, domain: int, rng: np.random.Generator) -> int | None:
        """A row of that class and another domain, each equally likely; None where there is none."""
        start, end = self._classes.get((label,), (0, 0))
        mine, mine_end = self._domains.get((label, domain), (end, end))
        count = (end - start) - (mine_end - mine)
        if count == 0:
            return None
        position = start + int(rng.integers(count))
        return int(self._rows[position if position < mine else position + mine_end - mine])


def _runs(keys: np.ndarray) -> dict[tuple[int, ...], tuple[int, int]]:
    """Where each key begins and ends in a sorted array of keys."""
    if len(keys) == 0:
        return {}
    table = keys.reshape(len(keys), -1)
    starts = np.flatnonzero(np.append(True, (table[1:] != table[:-1]).any(axis=1)))
    ends = np.append(starts[1:], len(table))
    return {tuple(table[start].tolist()): (int(start), int(end)) for start, end in zip(starts, ends, strict=True)}
