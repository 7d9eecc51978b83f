"""The one line that says which field of which file is wrong."""

from __future__ import annotations

import reprlib
from pathlib import Path

from wilds_targeted.errors import AnnotationError

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


def wrong_field(file: Path, field: str, got: object, expected: str) -> AnnotationError:
    """The error to raise for a field that does not hold what it should.

    >>> print(wrong_field(Path("boxes.json"), "images[17].id", 3, "text"))
    boxes.json: images[17].id: got 3; expected text
    """
    return AnnotationError(f"{file}: {field}: got {_short.repr(got)}; expected {expected}")


def missing_field(file: Path, field: str, expected: str) -> AnnotationError:
    """The error to raise for a field that is not there.

    >>> print(missing_field(Path("boxes.json"), "images[17].id", "text"))
    boxes.json: images[17].id: missing; expected text
    """
    return AnnotationError(f"{file}: {field}: missing; expected {expected}")
