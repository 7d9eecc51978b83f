"""The annotations of a release: boxes in time and frequency around calls, each with its species."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from birdcalls_dataset.build.problems import Kind, Problems
from birdcalls_dataset.table import EMPTY
from wilds_targeted.errors import DataError, closest, one_line

FILE, SPECIES = "Filename", "Species eBird Code"
NUMBERS = ("Start Time (s)", "End Time (s)", "Low Freq (Hz)", "High Freq (Hz)")

EBIRD_CODE = re.compile(r"[a-z][a-z0-9]{2,9}")
"""What a code looks like (`amerob`, `rebwoo1`); the releases write ``????`` for a bird that nobody could tell."""


@dataclass(frozen=True, slots=True)
class Call:
    """One row.

    Attributes:
        row: Its number, counted as spreadsheets do: the header is row 1.
        file: The recording's file name.
        start: In seconds from the recording's start.
        end: Likewise.
        low: The lowest frequency, in hertz; None where the row does not tell.
        high: The highest.
        species: Its eBird code; None for a call of nobody knows which species.
    """

    row: int
    file: str
    start: float
    end: float
    low: float | None
    high: float | None
    species: str | None


def read_annotations(path: Path, known: frozenset[str] | None, problems: Problems) -> list[Call]:
    """The calls that a table tells of, in its order.

    A row that does not tell when a call sounds is left out. One that tells nothing else keeps its place: a chunk with
    such a call is not an empty one.

    Args:
        path: The table.
        known: The codes of the release's species, where there is a list of them.
        problems: Hears of rows that do not fit.

    Raises:
        DataError: The table can't be read, or lacks a column.
    """
    calls = []
    for row, values in _rows(path, (FILE, *NUMBERS, SPECIES)):
        numbers = [_number(text) for text in values[1:5]]
        wrong = [f"{name} {text!r}" for name, text, n in zip(NUMBERS, values[1:5], numbers, strict=True) if n is None]
        start, end, low, high = numbers
        if wrong:
            problems.add(Kind.NOT_A_NUMBER, path, f"{', '.join(wrong)} in {values[0]}", row=row)
        if start is None or end is None:
            continue
        species: str | None = values[5]
        if not _is_code(values[5]) or (known is not None and values[5] not in known):
            listed = "" if known is None else closest(values[5], known)
            problems.add(Kind.UNKNOWN_CODE, path, f"{values[5]!r} in {values[0]}{listed}", row=row)
            species = None
        calls.append(Call(row, values[0], start, end, low, high, species))
    return calls


def read_species(path: Path) -> frozenset[str]:
    """The codes in a release's list of species.

    Raises:
        DataError: The list can't be read, or lacks the column.
    """
    return frozenset(values[0] for _, values in _rows(path, (SPECIES,)))


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Each row's number and its values in those columns."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            header = [name.strip() for name in next(lines, [])]
            for column in columns:
                if column not in header:
                    raise DataError(
                        f"{path} has no column {column!r}{closest(column, header)}; its columns: {', '.join(header)}."
                    )
            places = [header.index(column) for column in columns]
            for row, line in enumerate(lines, start=2):
                if any(cell.strip() for cell in line):
                    yield row, [line[place].strip() if place < len(line) else "" for place in places]
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path}: can't be read as a table ({one_line(error)}).") from error


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_code(text: str) -> bool:
    return EBIRD_CODE.fullmatch(text) is not None and text != EMPTY
