"""The table of clips, `combined.csv`: the columns of the authors' bundle, and those that our build adds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pandas as pd

from wilds_targeted.errors import DataError, closest, one_line

TABLE_FILE = "combined.csv"
EMPTY = "empty"
"""The species of a clip without a call."""

SPLITS = ("train", "id_val", "id_test", "ood_train", "ood_val", "test")
"""The bundle's splits: three of the training microphones, three of the held-out ones."""

ID, SPLIT, PICTURE, AUDIO, SPECIES = "id", "split", "mel_img_path", "audio_path", "Species eBird Code"
MICROPHONE, LOW, HIGH, BOX, REGION = (
    "Location",
    "Call Low Freq (Hz)",
    "Call High Freq (Hz)",
    "mel_bbox",
    "dataset",
)
BUNDLE_COLUMNS = (ID, SPLIT, PICTURE, AUDIO, SPECIES, MICROPHONE, LOW, HIGH, BOX, REGION)
"""What the authors' table has. ``mel_bbox`` is [x, y, width, height] relative to the picture, from its top left."""

_NOTHING = ("", "nan", "NaN", "None", "[]")
"""How a box or a frequency that is not there may be written."""
_HIGHEST_HZ = 1e6
_BOX_RULE = "a call's box must be four numbers [x, y, width, height], as shares of the picture"

RECORDING, START, CALL_START, CALL_END, CRC = "recording", "start_s", "call_start_s", "call_end_s", "audio_crc32"
BUILD_COLUMNS = (*BUNDLE_COLUMNS, RECORDING, START, CALL_START, CALL_END, CRC)
"""What our build writes: also where the clip is cut from, when the call sounds in it (seconds), and the checksum of its
file. ``mel_img_path`` is empty there: pictures are made from the sound."""


def read_table(path: Path) -> pd.DataFrame:
    """The table, its columns and values checked; the first row that does not fit is named.

    Raises:
        DataError: The file can't be read, lacks a column, or has a row that does not fit.
    """
    if not path.is_file():
        raise DataError(
            f"{path} is not there: expected is the table of the authors' bundle, or one that "
            f"`python -m birdcalls_dataset build` or `wilds-targeted miniature birdcalls` wrote."
        )
    try:
        # Names stay text: a species or a microphone called "NA" is one.
        text = dict.fromkeys((ID, SPLIT, PICTURE, AUDIO, SPECIES, MICROPHONE, BOX, REGION, RECORDING, CRC), str)
        table = pd.read_csv(path, dtype=text, keep_default_na=False)
    except (ValueError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: can't be read as a table ({one_line(error)}).") from error
    missing = [column for column in BUNDLE_COLUMNS if column not in table.columns]
    if missing:
        raise DataError(
            f"{path} has no column {missing[0]!r}{closest(missing[0], table.columns)}; its columns: "
            f"{', '.join(table.columns)}."
        )
    if table.empty:
        raise DataError(f"{path} has no rows.")
    _demand(path, table[SPLIT].isin(SPLITS), table[SPLIT], f"split must be one of {', '.join(SPLITS)}")
    _demand(path, table[SPECIES] != "", table[SPECIES], "there must be a species, or 'empty'")
    _demand(path, table[MICROPHONE] != "", table[MICROPHONE], "there must be a microphone (Location)")
    _demand(path, table[REGION] != "", table[REGION], "there must be a region (dataset)")
    _demand(path, ~table[ID].duplicated(), table[ID], "an id must not be repeated")
    _demand(path, (table[PICTURE] != "") | (table[AUDIO] != ""), table[ID], "there is neither picture nor sound")
    for column in (PICTURE, AUDIO):
        _demand(path, table[column].map(_is_inside), table[column], f"{column} must lie in the data set's own folder")
    for column in (LOW, HIGH):
        numbers = pd.to_numeric(table[column], errors="coerce")
        is_frequency = numbers.between(0, _HIGHEST_HZ) | table[column].isin(_NOTHING)
        _demand(path, is_frequency, table[column], f"{column} must be a number of hertz, or empty")
        table[column] = numbers
    return table


def _demand(path: Path, fits: pd.Series[bool], values: pd.Series[Any], rule: str) -> None:
    if not fits.all():
        row = int((~fits).to_numpy().argmax())
        raise DataError(f"{path}, row {row + 2}: {rule}, got {values.iloc[row]!r}.")


def _is_inside(name: str) -> bool:
    """Whether a path leads nowhere but into the folder that it is relative to."""
    return not (PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive or ".." in PurePosixPath(name).parts)


def parse_box(text: str) -> tuple[float, float, float, float] | None:
    """A call's relative box from its text, four numbers [x, y, width, height]; None where there is none.

    >>> parse_box("[0.1, 0.2, 0.3, 0.4]")
    (0.1, 0.2, 0.3, 0.4)
    >>> parse_box("") is None
    True
    """
    if text in _NOTHING:
        return None
    try:
        x, y, width, height = (float(value) for value in json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(f"{_BOX_RULE}, got {text[:80]!r}.") from error
    if math.isnan(x + y + width + height):
        return None
    # A box may reach a little beyond the picture, as annotators draw them; one that does not meet it is in other units.
    if not (width > 0 and height > 0 and -1 < x < 1 and -1 < y < 1 and x + width > 0 and y + height > 0):
        raise DataError(f"{_BOX_RULE}, got {text[:80]!r}.")
    return x, y, width, height


def format_box(box: Iterable[float]) -> str:
    """The text of a relative box.

    >>> format_box((0.1, 0.2, 0.3, 0.4))
    '[0.1, 0.2, 0.3, 0.4]'
    """
    return str([round(float(value), 6) for value in box])
