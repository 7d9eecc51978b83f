"""Reads MegaDetector's results, a JSON file of a gigabyte or more, image by image.

The layout, in iWildCam's releases and the paper authors' bundle::

    {"images": [{"id": "…", "detections": [{"bbox": [x, y, w, h], "conf": 0.9, "category": "1"}, …]}, …],
     "detection_categories": {"1": "animal", "2": "person", "3": "vehicle"}}

Boxes are relative to the image. iWildCam 2022 writes ``"file": "train/{id}.jpg"`` for ``id``.
"""

from __future__ import annotations

import enum
import json
import mmap
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

import ijson
from tqdm import tqdm

from wilds_targeted.annotations._wrong import missing_field, wrong_field
from wilds_targeted.errors import AnnotationError

MAX_DETECTIONS = 255
"""A mask's pixel holds a detection's position in one byte, and 0 is the background."""

_SLACK = 1e-3  # MegaDetector's boxes stick out of the image by rounding
_NUMBERS = frozenset({int, float})  # for `type`, not `isinstance`: JSON's true is an int to Python
_BOX = "4 numbers from 0 to 1 (x, y, width, height relative to the image)"
_CONFIDENCE = "a number from 0 to 1"
_CATEGORY = "a string, a key of detection_categories"
_ID = "a string, the image's id (or 'file', its path)"
_IMAGES = "a list of images with 'id' and 'detections'"
_CATEGORIES_KEY = b'"detection_categories"'
_CATEGORIES_LENGTH = 1 << 16  # what is read after the key: room for thousands of categories


class Category(enum.IntEnum):
    """What a detection shows."""

    ANIMAL = 0
    PERSON = 1
    VEHICLE = 2
    OTHER = 3


_CATEGORY_OF_NAME = {
    "animal": Category.ANIMAL,
    "person": Category.PERSON,
    "human": Category.PERSON,
    "vehicle": Category.VEHICLE,
}
_MEGADETECTOR_NAMES = {"1": "animal", "2": "person", "3": "vehicle"}


class Detection(NamedTuple):
    """One detection of an image.

    Args:
        ordinal: Its position in the image's list, from 1: the number of its pixels in the mask.
        code: Its category, as the file writes it.
        confidence: From 0 to 1.
        box: x, y, width and height relative to the image, each from 0 to 1.
    """

    ordinal: int
    code: str
    confidence: float
    box: tuple[float, float, float, float]


class ImageDetections(NamedTuple):
    """The detections of one image.

    Args:
        image_id: The image.
        listed: How many detections the file lists, whatever their confidence.
        detections: Those that are confident enough.
    """

    image_id: str
    listed: int
    detections: list[Detection]


def read_images(path: Path, min_confidence: float = 0.0) -> Iterator[ImageDetections]:
    """The images of a detections file in its order, with the detections of at least that confidence.

    Every detection is checked, those left out too. Shows a progress bar where a person is watching.

    Raises:
        AnnotationError: The file is missing or broken, or a field is not as it should be.
    """
    seen: set[str] = set()
    for index, image in enumerate(_raw_images(path)):
        read = _read_image(path, f"images[{index}]", image, min_confidence)
        if read.image_id in seen:
            raise wrong_field(path, f"images[{index}]", read.image_id, "an id that no image before it has")
        seen.add(read.image_id)
        yield read
    if not seen:
        raise _no_images(path)


def read_categories(path: Path) -> dict[str, Category]:
    """What the category codes of a detections file mean; MegaDetector's own meaning where the file does not say.

    The object may stand before or after the images, and parsing a gigabyte again for it would take as long as reading
    the images: the key is searched as bytes, from the end, where it usually is.
    """
    with _opened(path) as file:
        if path.stat().st_size == 0:  # which `mmap` refuses
            raise AnnotationError(f"{path}: empty; expected JSON: is the file complete?")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            key = content.rfind(_CATEGORIES_KEY)
            start = key + len(_CATEGORIES_KEY)
            after = content[start : start + _CATEGORIES_LENGTH] if key >= 0 else b""
    names: object = _MEGADETECTOR_NAMES
    if after:
        text = after.decode(errors="replace").lstrip(" \t\r\n:")
        try:
            names, _ = json.JSONDecoder().raw_decode(text)
        except ValueError:
            names = text
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise wrong_field(path, "detection_categories", names, 'an object such as {"1": "animal", "2": "person"}')
    return {code: _CATEGORY_OF_NAME.get(name.lower(), Category.OTHER) for code, name in names.items()}


def _raw_images(path: Path) -> Iterator[Any]:
    index = 0
    with (
        _opened(path) as file,
        tqdm.wrapattr(
            file, "read", total=path.stat().st_size, desc=f"reading {path.name}", disable=None, leave=False
        ) as watched,
    ):
        try:
            for image in ijson.items(watched, "images.item", use_float=True):
                yield image
                index += 1
        except ijson.JSONError as error:
            reason = str(error).splitlines()[0]
            raise AnnotationError(
                f"{path}: images[{index}] or later: not JSON ({reason}); is the file complete?"
            ) from None


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise AnnotationError(f"{path}: cannot be read ({error.strerror})") from None


def _no_images(path: Path) -> AnnotationError:
    """Why no image was found, from a second look at what is probably a small file."""
    with _opened(path) as file:
        for prefix, event, value in ijson.parse(file, use_float=True):
            if prefix == "images":
                got = {"start_array": [], "start_map": {}}.get(event, value)
                return wrong_field(path, "images", got, _IMAGES)
    return missing_field(path, "images", _IMAGES)


def _read_image(path: Path, field: str, image: object, min_confidence: float) -> ImageDetections:
    if not isinstance(image, dict):
        raise wrong_field(path, field, image, "an object with 'id' and 'detections'")
    image_id = _read_id(path, field, image)
    # Where MegaDetector could not open an image it writes 'failure', and null or nothing for the detections.
    detections = image.get("detections")
    if detections is None:
        if "failure" not in image:
            raise missing_field(path, f"{field}.detections", "a list of detections")
        detections = []
    if not isinstance(detections, list):
        raise wrong_field(path, f"{field}.detections", detections, "a list of detections")
    if len(detections) > MAX_DETECTIONS:
        raise AnnotationError(
            f"{path}: {field}.detections: got {len(detections)} detections; expected at most {MAX_DETECTIONS}"
        )
    kept = []
    for position, detection in enumerate(detections):
        complaint = _complaint(detection)
        if complaint is not None:
            raise _wrong_detection(path, f"{field}.detections[{position}]", detection, *complaint)
        if detection["conf"] >= min_confidence:
            x, y, width, height = (min(max(number, 0.0), 1.0) for number in detection["bbox"])
            kept.append(Detection(position + 1, detection["category"], detection["conf"], (x, y, width, height)))
    return ImageDetections(image_id, len(detections), kept)


def _read_id(path: Path, field: str, image: dict[str, Any]) -> str:
    for key in ("id", "file"):
        if key in image:
            value = image[key]
            if not isinstance(value, str) or not value:
                raise wrong_field(path, f"{field}.{key}", value, _ID)
            return value if key == "id" else PurePosixPath(value).stem
    raise missing_field(path, f"{field}.id", _ID)


def _complaint(detection: object) -> tuple[str, str] | None:
    """The key of what is wrong with a detection and what it should be; this runs some twenty million times."""
    if not isinstance(detection, dict):
        return "", "an object with 'bbox', 'conf' and 'category'"
    box: Any = detection.get("bbox")
    confidence: Any = detection.get("conf")
    if (
        type(box) is not list
        or len(box) != 4
        or not _NUMBERS.issuperset(map(type, box))
        or min(box) < -_SLACK
        or max(box) > 1 + _SLACK
    ):
        return "bbox", _BOX
    if type(confidence) not in _NUMBERS or not 0 <= confidence <= 1:
        return "conf", _CONFIDENCE
    if type(detection.get("category")) is not str:
        return "category", _CATEGORY
    return None


def _wrong_detection(path: Path, field: str, detection: Any, key: str, expected: str) -> AnnotationError:
    if not key:
        return wrong_field(path, field, detection, expected)
    if key not in detection:
        return missing_field(path, f"{field}.{key}", expected)
    return wrong_field(path, f"{field}.{key}", detection[key], expected)
