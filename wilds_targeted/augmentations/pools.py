"""From which pool of empty backgrounds an example's object draws. An empty example draws from none."""

from __future__ import annotations

from collections.abc import Mapping

from wilds_targeted.example import Example

EMPTY = 0
"""The class of the empty examples, in iWildCam and in BirdCalls."""


class SamePool:
    """Every object draws from one pool."""

    def __call__(self, example: Example) -> int | None:
        """The pool's key; None for an empty example."""
        return None if int(example.y) == EMPTY else 0


class PoolOfLabel:
    """An object draws from the pool of its class."""

    def __call__(self, example: Example) -> int | None:
        """The pool's key; None for an empty example."""
        label = int(example.y)
        return None if label == EMPTY else label


class PoolOfField:
    """An object draws from the pool to which a field of its metadata belongs, such as its camera's country.

    Args:
        column: The field's column in the metadata.
        pools: For each value its pool; None where the value itself is the pool's key.
    """

    def __init__(self, column: int, pools: Mapping[int, int] | None = None) -> None:
        self.column = column
        self.pools = pools

    def __call__(self, example: Example) -> int | None:
        """The pool's key; None for an empty example."""
        if int(example.y) == EMPTY:
            return None
        value = int(example.metadata[self.column])
        return value if self.pools is None else self.pools[value]
