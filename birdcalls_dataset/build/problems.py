"""What is wrong with recordings and annotations: one line each, and a summary; or, when strict, an error at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from wilds_targeted.errors import DataError


class Kind(StrEnum):
    """The kinds of problems."""

    UNKNOWN_CODE = "unknown code"
    OVERLAP = "overlapping annotations"
    NOT_A_NUMBER = "not a number"
    BAD_TIMES = "bad times"
    PAST_END = "times past the end"
    BAD_FREQUENCIES = "bad frequencies"
    NO_RECORDING = "missing recording"
    NO_ANNOTATION = "unannotated recording"
    NO_MICROPHONE = "unknown microphone"
    WRONG_RATE = "wrong sample rate"
    CHANNELS = "more than one channel"
    BAD_NAME = "unusable name"
    UNREADABLE = "unreadable audio"


class Problems:
    """Those of one build, in the order in which they are found.

    Args:
        report: Takes each line.
        strict: Whether the first one ends the build.
    """

    def __init__(self, report: Callable[[str], None], *, strict: bool = False) -> None:
        self.counts: Counter[Kind] = Counter()
        self._report = report
        self._strict = strict

    def add(self, kind: Kind, file: Path, text: str, *, row: int | None = None) -> None:
        """Tell of a problem.

        Args:
            kind: Its kind.
            file: Where it is.
            text: What is there, and what comes of it.
            row: In which row of that file, counted as spreadsheets do: the header is row 1.

        Raises:
            DataError: The build is strict.
        """
        place = str(file) if row is None else f"{file}, row {row}"
        line = _printable(f"{place}: {kind}: {text}")
        if self._strict:
            raise DataError(f"{line} (--strict stops here).")
        self.counts[kind] += 1
        self._report(line)

    def summary(self) -> str:
        """All of them in one line."""
        if not self.counts:
            return "No problems with the recordings and annotations."
        kinds = ", ".join(f"{kind} {self.counts[kind]}" for kind in Kind if self.counts[kind])
        return f"Problems with the recordings and annotations: {kinds}."


def _printable(text: str) -> str:
    """One line, whatever names and cells hold.

    >>> _printable("a\\nb\\0")
    'a\\\\nb\\\\x00'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
