"""A file of predictions: one label a line, and nothing else."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wilds_targeted.errors import DataError

_LABEL = rb"(?:0|[1-9][0-9]{0,8})"
_LINE = re.compile(_LABEL)
_WHOLE = re.compile(rb"(?:%b\r?\n)*(?:%b\r?)?" % (_LABEL, _LABEL))
_SHOWN = 40
_NEXT = "take the file that the run wrote, or run it again"


@dataclass(frozen=True)
class Predictions:
    """What a file holds.

    Args:
        path: The file.
        content: Its bytes.
        labels: The labels.
    """

    path: Path
    content: bytes
    labels: NDArray[np.int64]


def read_predictions(path: Path, size: int, n_classes: int) -> Predictions:
    """Read a file that must hold `size` labels from 0 to `n_classes` - 1.

    Raises:
        DataError: It does not; the message names the first line that is wrong, and what to do.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(
            f"{path} is missing: every split but train needs the best epoch's predictions; run with --save_pred true "
            f"--save_best true, or evaluate the best model with --eval_only"
        ) from None
    except OSError as error:
        raise DataError(f"{path} can't be read ({error.strerror}); mend that, or run it again") from error
    if not _WHOLE.fullmatch(content):
        raise DataError(f"{path}{_first_wrong_line(content)}; one label a line is expected: {_NEXT}")
    labels = np.array(content.split(), dtype=np.int64)
    if len(labels) != size:
        found = "is cut off" if len(labels) < size else "has lines too many"
        raise DataError(f"{path} {found}: {len(labels)} lines, and the split has {size} examples; {_NEXT}")
    outside = np.flatnonzero(labels >= n_classes)
    if len(outside):
        raise DataError(
            f"{path}, line {outside[0] + 1}: the label {labels[outside[0]]} is out of range, the classes are 0 to "
            f"{n_classes - 1}; {_NEXT}"
        )
    return Predictions(path, content, labels)


def _first_wrong_line(content: bytes) -> str:
    """Which line is no label, and what it may be instead."""
    lines = (line.removesuffix(b"\r") for line in content.split(b"\n"))
    number, wrong = next((number, line) for number, line in enumerate(lines, 1) if not _LINE.fullmatch(line))
    return f", line {number}, {_what_it_is(wrong, is_first=number == 1)}"


def _what_it_is(line: bytes, *, is_first: bool) -> str:
    """A wrong line in words.

    >>> _what_it_is(b"label", is_first=True), _what_it_is(b"1.5", is_first=False)
    ("is a header ('label')", "is '1.5', not a whole number from 0")
    """
    text = line.decode("utf-8", errors="replace")
    if "\ufffd" in text or any(unicodedata.category(each) == "Cc" and not each.isspace() for each in text):
        return "is no text but binary data"
    if not text.strip():
        return "is empty"
    shown = repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
    if _LINE.fullmatch(line.removeprefix(codecs.BOM_UTF8).strip()):
        return f"has spaces or invisible marks beside its label ({shown})"
    if "," in text:
        return f"has several values ({shown})"
    if is_first and re.search(r"[^\W\d_]", text) and not _is_number(text):
        return f"is a header ({shown})"
    return f"is {shown}, not a whole number from 0"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
