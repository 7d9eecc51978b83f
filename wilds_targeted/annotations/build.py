"""Makes the arrays of the annotation table from the published files; minutes for the full data set, once."""

from __future__ import annotations

import csv
import os
from array import array
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wilds_targeted.annotations.detections import Category, read_categories, read_images
from wilds_targeted.annotations.locate import AnnotationFiles
from wilds_targeted.errors import AnnotationError, DataError

FLOOR_CONFIDENCE = 0.1
"""Detections below this are not kept: of the hundred that MegaDetector lists for an image, nearly all."""

CONFIDENCE_STEPS = 1 << 16
BOX_STEPS = (1 << 16) - 1

Arrays = dict[str, NDArray[Any]]


def build_arrays(metadata_csv: Path, files: AnnotationFiles) -> Arrays:
    """The arrays of an `AnnotationTable`, by the names of its attributes.

    Raises:
        DataError: ``metadata.csv`` is missing, broken or lacks a column.
        AnnotationError: The same of the annotations.
    """
    metadata = read_metadata(metadata_csv)
    pictured = _pictured(files.masks)
    return {
        "image_id": _as_bytes(metadata.image_ids),
        "location": _as_bytes(metadata.locations),
        "has_mask": np.fromiter(
            (image_id in pictured for image_id in metadata.image_ids), np.bool_, len(metadata.image_ids)
        ),
        **_detection_arrays(files.detections, metadata.image_ids),
    }


class Metadata(NamedTuple):
    """The columns of ``metadata.csv`` that the annotations are tied to, row by row."""

    image_ids: list[str]
    locations: list[str]


def read_metadata(path: Path) -> Metadata:
    """Read ``image_id`` (else the stem of ``filename``) and ``location`` (else ``location_remapped``).

    Raises:
        DataError: The file is missing, broken or lacks a column.
    """
    image_ids, locations = [], []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            header = next(rows, [])
            id_column = _column(path, header, "image_id", "filename")
            location_column = _column(path, header, "location", "location_remapped")
            is_filename = header[id_column] == "filename"
            for row in rows:
                if len(row) != len(header):
                    raise DataError(
                        f"{path}: line {rows.line_num}: got {len(row)} fields; expected {len(header)}, as in its header"
                    )
                image_id = row[id_column]
                image_ids.append(PurePosixPath(image_id).stem if is_filename else image_id)
                locations.append(row[location_column])
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a CSV file in UTF-8 ({error})") from None
    return Metadata(image_ids, locations)


def _column(path: Path, header: list[str], name: str, substitute: str) -> int:
    for candidate in (name, substitute):
        if candidate in header:
            return header.index(candidate)
    found = ", ".join(header) or "nothing"
    raise DataError(f"{path}: no column {name!r} nor {substitute!r}; its columns are: {found}")


def _pictured(masks: Path | None) -> Collection[str]:
    """The ids of the images that have a mask, from one listing: 200,000 single looks take minutes on NFS."""
    if masks is None:
        return ()
    try:
        with os.scandir(masks) as entries:
            return {entry.name.removesuffix(".png") for entry in entries if entry.name.endswith(".png")}
    except OSError as error:
        raise AnnotationError(f"{masks}: cannot be listed ({error.strerror})") from None


def _as_bytes(texts: list[str]) -> NDArray[np.bytes_]:
    return np.array([text.encode() for text in texts], dtype=np.bytes_)


def _detection_arrays(path: Path | None, image_ids: list[str]) -> Arrays:
    stream = _Stream()
    if path is not None:
        stream.read(path, set(image_ids))
    # The file has an order of its own: gather each row's detections from where its image stood in the stream. A row
    # that the file does not list has place -1, so it takes what is appended below: no detections, and listed -1.
    place = np.fromiter((stream.place.get(image_id, -1) for image_id in image_ids), np.int64, len(image_ids))
    starts = np.array(stream.starts, np.int64)
    length = np.append(np.diff(starts), 0)[place]
    offsets = np.append(0, np.cumsum(length))
    gather = np.repeat(starts[place] - offsets[:-1], length) + np.arange(offsets[-1])
    return {
        "listed": np.append(np.array(stream.listed, np.int16), np.int16(-1))[place],
        "offsets": offsets,
        "ordinal": np.array(stream.ordinal, np.uint8)[gather],
        "category": stream.categories(path)[gather],
        "confidence": np.array(stream.confidence, np.uint16)[gather],
        "box": np.array(stream.box, np.uint16).reshape(-1, 4)[gather],
    }


class _Stream:
    """The detections of the wanted images in the order of their file, in a few bytes each."""

    def __init__(self) -> None:
        self.place: dict[str, int] = {}
        self.starts = array("q", [0])  # one more entry than images: it closes the last one
        self.listed = array("h")
        self.ordinal = array("B")
        self.code = array("H")
        self.confidence = array("H")
        self.box = array("H")
        self._codes: dict[str, int] = {}

    def read(self, path: Path, wanted: Collection[str]) -> None:
        for image_id, listed, detections in read_images(path, FLOOR_CONFIDENCE):
            if image_id not in wanted:
                continue
            self.place[image_id] = len(self.place)
            self.listed.append(listed)
            for ordinal, code, confidence, box in detections:
                self.ordinal.append(ordinal)
                self.code.append(self._codes.setdefault(code, len(self._codes)))
                self.confidence.append(stored_confidence(confidence))
                self.box.extend(round(number * BOX_STEPS) for number in box)
            self.starts.append(len(self.ordinal))

    def categories(self, path: Path | None) -> NDArray[np.uint8]:
        """The category of each detection; the file's table of codes may stand after its images."""
        meaning = read_categories(path) if path is not None else {}
        category_of = np.array([meaning.get(code, Category.OTHER) for code in self._codes], np.uint8)
        return category_of[np.array(self.code, np.intp)]


def stored_confidence(confidence: float) -> int:
    """A confidence in 16 bits, rounded down, so that comparing with a threshold stored alike is right at 0.5.

    >>> stored_confidence(0.5), stored_confidence(0.49999), stored_confidence(1.0)
    (32768, 32767, 65535)
    """
    return min(int(confidence * CONFIDENCE_STEPS), CONFIDENCE_STEPS - 1)
