"""What a transform may look at."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wilds_targeted.errors import DataError, one_line

UNREADABLE = (Image.DecompressionBombError, OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error)
"""What Pillow raises at a broken file, depending on its format."""


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


@dataclass(frozen=True, slots=True)
class Batch:
    """What a loader gives in one step, as an augmentation of batches sees it.

    Args:
        x: The inputs, after all steps of the loader's transform: for images, a tensor (examples, channels, height,
            width).
        y: The labels.
        metadata: The rows of the data set's ``metadata_array``.
    """

    x: Any
    y: Any
    metadata: Any


def load_example(dataset: Any, index: int) -> Example:
    """That row of a data set, its image read: WILDS opens images without reading them.

    Raises:
        DataError: The row's file is missing or broken.
    """
    x = None
    try:
        x, y, metadata = dataset[index]
        if hasattr(x, "load"):
            x.load()
    except UNREADABLE as error:
        file = getattr(x, "filename", None) or getattr(error, "filename", None)
        raise DataError(
            f"row {index} of {dataset.dataset_name} can't be read ({file or 'its file'}: "
            f"{getattr(error, 'strerror', None) or one_line(error)}); restore it from the data set's archive."
        ) from error
    return Example(x, y, metadata, index)


def load_image(dataset: Any, row: int) -> Image.Image:
    """The picture of that row."""
    image: Image.Image = load_example(dataset, row).x
    return image


def training_rows(dataset: Any) -> NDArray[np.int64]:
    """The rows of the training split."""
    return np.flatnonzero(np.asarray(dataset.split_array) == dataset.split_dict["train"])
