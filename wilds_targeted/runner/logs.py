"""``log.txt`` and the CSV tables: appended to while a run lasts, and cut back to a known length when it goes on."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from wilds_targeted.errors import DataError


class _Appended:
    """A file that only grows. `length` is a place to which it can be cut back.

    Args:
        path: The file.
        length: Where to go on; 0 starts anew.
    """

    def __init__(self, path: Path, length: int = 0) -> None:
        self.path = path
        if length and (not path.is_file() or path.stat().st_size < length):
            raise DataError(
                f"{path} is shorter than when the run was saved ({length} bytes): somebody has changed it. Start the "
                f"run anew, without --resume."
            )
        # Text would translate line ends on some systems, and positions in it are not bytes.
        self._file: IO[bytes] = path.open("r+b" if length else "wb")
        self._file.truncate(length)
        self._file.seek(length)

    def length(self) -> int:
        """How many bytes are safely on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def append(self, text: str) -> None:
        """Write, for others to read at once."""
        self._file.write(text.encode())
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TextLog(_Appended):
    """The log for people; it is shown on standard output, too."""

    def write(self, text: str) -> None:
        """Append, and show without disturbing a progress bar."""
        self.append(text)
        tqdm.write(text, end="")


class TableLog(_Appended):
    """A CSV table whose columns are those of its first row, epoch and batch in front."""

    def __init__(self, path: Path, length: int = 0) -> None:
        super().__init__(path, length)
        self._columns: list[str] = []
        if length:
            with path.open(newline="", encoding="utf-8") as file:
                self._columns = next(csv.reader(file))

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row, and the header before the first one."""
        lines = _Lines()
        if not self._columns:
            front = [name for name in ("epoch", "batch") if name in row]
            self._columns = [*front, *(name for name in row if name not in front)]
            csv.writer(lines).writerow(self._columns)
        csv.DictWriter(lines, self._columns).writerow(row)
        self.append("".join(lines.texts))


class _Lines:
    """What a CSV writer writes to, so that a row reaches the file in one piece."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, text: str) -> None:
        self.texts.append(text)


class Logs:
    """All logs of a run.

    Args:
        folder: The log folder.
        splits: The splits that get two tables each.
        lengths: Where to go on, by file name; empty to start anew.
    """

    def __init__(self, folder: Path, splits: list[str], lengths: Mapping[str, int]) -> None:
        self.text = TextLog(folder / "log.txt", lengths.get("log.txt", 0))
        tables = {f"{split}_{kind}.csv" for split in splits for kind in ("eval", "algo")}
        self._tables = {name: TableLog(folder / name, lengths.get(name, 0)) for name in sorted(tables)}

    def eval(self, split: str) -> TableLog:
        """The table of the metrics of each epoch."""
        return self._tables[f"{split}_eval.csv"]

    def algo(self, split: str) -> TableLog:
        """The table of the algorithm's running averages."""
        return self._tables[f"{split}_algo.csv"]

    def lengths(self) -> dict[str, int]:
        """How long each file is; all of it is on disk."""
        return {log.path.name: log.length() for log in (self.text, *self._tables.values())}

    def close(self) -> None:
        """Close all files."""
        for log in (self.text, *self._tables.values()):
            log.close()
