"""Masks, boxes and locations of every row of ``metadata.csv``, in a few bytes a row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from wilds_targeted.annotations.build import BOX_STEPS, FLOOR_CONFIDENCE, build_arrays, stored_confidence
from wilds_targeted.annotations.cache import AnnotationCache
from wilds_targeted.annotations.detections import Category
from wilds_targeted.annotations.locate import AnnotationFiles
from wilds_targeted.errors import ParameterError

_PERSON = int(Category.PERSON)  # numpy compares with an enum's member eight times slower


class Counts(NamedTuple):
    """Of some rows, how many have what.

    Args:
        masks: Have a mask with an instance to use.
        boxes: Have no such mask, but a box to use.
        neither: Have neither.
    """

    masks: int
    boxes: int
    neither: int


@dataclass(frozen=True, eq=False)
class AnnotationTable:
    """What is known of each row of ``metadata.csv``; row ``i`` is example ``i`` of the data set.

    Detections of a confidence below `FLOOR_CONFIDENCE` (0.1) are not held. Those held keep their ordinals, so that a
    mask's numbers mean what they meant. A row's detections are ``offsets[row]:offsets[row + 1]`` of the last four
    arrays.

    Args:
        masks: The folder of the masks, or None.
        has_detections: Whether there was a detections file. Where there was none, nothing tells animals from persons,
            nor sure from unsure: `instances` is empty, and every number of a mask counts (give `load_mask` None).
        image_id: UTF-8 bytes.
        location: The camera's id, UTF-8 bytes; the key of ``gps_locations.json``.
        has_mask: Whether there is a file for it in the folder of the masks.
        listed: int16; how many detections the file lists for the image, -1 where it does not list the image.
        offsets: int64, one entry more than rows.
        ordinal: uint8; a detection's position in its image's list, from 1.
        category: uint8; a `Category`.
        confidence: uint16; see `stored_confidence`.
        box: uint16, four columns: x, y, width and height, from 0 to 65535 for 0 to 1.
    """

    masks: Path | None
    has_detections: bool
    image_id: NDArray[np.bytes_]
    location: NDArray[np.bytes_]
    has_mask: NDArray[np.bool_]
    listed: NDArray[np.int16]
    offsets: NDArray[np.int64]
    ordinal: NDArray[np.uint8]
    category: NDArray[np.uint8]
    confidence: NDArray[np.uint16]
    box: NDArray[np.uint16]

    @classmethod
    def open(cls, metadata_csv: Path, files: AnnotationFiles, cache_dir: Path | None = None) -> Self:
        """The table of a ``metadata.csv``, from the cache if it is fresh, else made and cached.

        Args:
            metadata_csv: WILDS's file, with ``image_id`` (or ``filename``) and ``location`` (or ``location_remapped``).
            files: The annotations, from `locate`.
            cache_dir: Where to keep the cache; see `AnnotationCache`.

        Raises:
            DataError: ``metadata.csv`` is missing, broken or lacks a column.
            AnnotationError: The same of the annotations.
        """
        cache = AnnotationCache(metadata_csv, files, cache_dir)
        arrays = cache.load()
        if arrays is None:
            arrays = build_arrays(metadata_csv, files)
            cache.save(arrays)
        return cls(masks=files.masks, has_detections=files.detections is not None, **arrays)

    def __len__(self) -> int:
        return len(self.image_id)

    def instances(self, row: int, min_confidence: float) -> NDArray[np.uint8]:
        """The ordinals of a row's detections to use: no persons, and at least that confidence.

        Raises:
            ParameterError: The confidence is below `FLOOR_CONFIDENCE`, or above 1.
        """
        detections = self._detections(row)
        return self.ordinal[detections][self._usable(detections, min_confidence)]

    def boxes(self, row: int, min_confidence: float) -> NDArray[np.float64]:
        """The boxes of the same detections: x, y, width, height relative to the image, one row each.

        Raises:
            ParameterError: As in `instances`.
        """
        detections = self._detections(row)
        return self.box[detections][self._usable(detections, min_confidence)] / BOX_STEPS

    def mask_path(self, row: int) -> Path | None:
        """The mask of a row, where there is one."""
        if self.masks is None or not self.has_mask[row]:
            return None
        return self.masks / f"{self.image_id[row].decode()}.png"

    def counts(self, rows: NDArray[Any], min_confidence: float) -> Counts:
        """Of these rows (indices, or a flag for each row), how many have a mask to use, only boxes, or neither.

        Raises:
            ParameterError: As in `instances`.
        """
        before = np.append(0, np.cumsum(self._usable(slice(None), min_confidence)))[self.offsets]
        detected = before[1:] > before[:-1]
        masks = self.has_mask & detected if self.has_detections else self.has_mask
        boxes = detected & ~masks
        return Counts(
            masks=int(masks[rows].sum()), boxes=int(boxes[rows].sum()), neither=int((~masks & ~boxes)[rows].sum())
        )

    def _detections(self, row: int) -> slice:
        return slice(self.offsets[row], self.offsets[row + 1])

    def _usable(self, detections: slice, min_confidence: float) -> NDArray[np.bool_]:
        if not FLOOR_CONFIDENCE <= min_confidence <= 1:
            raise ParameterError(
                f"min_confidence={min_confidence}: allowed is a number from {FLOOR_CONFIDENCE} to 1, "
                "since the table does not hold detections below"
            )
        confident = self.confidence[detections] >= stored_confidence(min_confidence)
        not_person: NDArray[np.bool_] = self.category[detections] != _PERSON
        return confident & not_person
