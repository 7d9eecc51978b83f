"""What a transform may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Example:
    """One example of a data set, as an augmentation sees it.

    WILDS hands a transform only ``x``; an augmentation that pastes an animal onto another background must know which
    animal it is and at which camera it stands.

    Args:
        x: The input, as the data set's ``get_input`` returns it (for images, a PIL image).
        y: The label, a tensor as in the data set's ``y_array``.
        metadata: The row of the data set's ``metadata_array``.
        index: The row in the full data set (not in the subset).
    """

    x: Any
    y: Any
    metadata: Any
    index: int
