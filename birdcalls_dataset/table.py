"""The table of clips, `combined.csv`: the columns of the authors' bundle, and those that our build adds."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
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

RECORDING, START, CALL_START, CALL_END, CRC = "recording", "start_s", "call_start_s", "call_end_s", "audio_crc32"
BUILD_COLUMNS = (*BUNDLE_COLUMNS, RECORDING, START, CALL_START, CALL_END, CRC)
"""What our build writes: also where the clip is cut from, when the call sounds in it (seconds), and the checksum of its
file. ``mel_img_path`` is empty there: pictures are made from the sound."""


def read_table(path: Path) -> pd.DataFrame:
    """The table, its columns and values checked; the first row that does not fit is named.

    Raises:
        DataError: The file can't be read, lacks a column, or has a row that does not fit.
    """
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
    _demand(path, (table[PICTURE] != "") | (table[AUDIO] != ""), table[ID], "there is neither picture nor sound")
    for column in (LOW, HIGH):
        numbers = pd.to_numeric(table[column], errors="coerce")
        _demand(path, numbers.notna() | (table[column] == ""), table[column], f"{column} must be a number, or empty")
        table[column] = numbers
    return table


def _demand(path: Path, fits: pd.Series[bool], values: pd.Series[Any], rule: str) -> None:
    if not fits.all():
        row = int((~fits).to_numpy().argmax())
        raise DataError(f"{path}, row {row + 2}: {rule}, got {values.iloc[row]!r}.")


def parse_box(text: str) -> tuple[float, float, float, float] | None:
    """A call's relative box from its text; None where there is none.

    >>> parse_box("[0.1, 0.2, 0.3, 0.4]")
    (0.1, 0.2, 0.3, 0.4)
    >>> parse_box("") is None
    True
    """
    if text in ("", "nan", "[]"):
        return None
    try:
        x, y, width, height = (float(value) for value in ast.literal_eval(text))
    except (ValueError, TypeError, SyntaxError) as error:
        raise DataError(f"a call's box must be four numbers [x, y, width, height], got {text!r}.") from error
    return x, y, width, height


def format_box(box: Iterable[float]) -> str:
    """The text of a relative box.

    >>> format_box((0.1, 0.2, 0.3, 0.4))
    '[0.1, 0.2, 0.3, 0.4]'
    """
    return str([round(float(value), 6) for value in box])
