"""What all miniatures share: they are written whole or not at all, and replace nothing but a former miniature."""

from __future__ import annotations

import contextlib
import csv
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wilds_targeted.errors import DataError, ParameterError

MARK_FILE = "MINIATURE.txt"
"""In each of the optional parts: it carries our mark there."""

MARK = "wilds-targeted miniature of"
"""How the release file of any miniature begins."""


@dataclass(frozen=True)
class Layout:
    """What a miniature consists of on disk.

    Attributes:
        title: The data set's name in sentences.
        parts: What lies in the root folder, in the order in which it appears: the data folder comes last, because
            WILDS takes it for the whole.
        release_file: The file in the data folder by which WILDS knows the version; it carries our mark.
        ranges: The lowest and the highest value of each parameter.
        optional: Those of the parts that need not be there; folders with a mark of their own, since people may have
            put something of that name beside a miniature.
    """

    title: str
    parts: tuple[str, ...]
    release_file: str
    ranges: Mapping[str, tuple[int, int]]
    optional: tuple[str, ...] = ()

    @property
    def data_folder(self) -> str:
        """The name of the folder that WILDS looks for."""
        return self.parts[-1]

    @property
    def mark(self) -> str:
        """How the release file of a miniature begins."""
        return f"{MARK} {self.title}"

    def check_ranges(self, values: Mapping[str, int]) -> None:
        """Refuse a parameter that is out of its range.

        Raises:
            ParameterError: The first one.
        """
        for name, value in values.items():
            low, high = self.ranges[name]
            if not low <= value <= high:
                raise ParameterError(f"{name} is {value}; a miniature {self.title} takes {low} to {high}.")

    @contextlib.contextmanager
    def written_whole(self, root: Path, release: Mapping[str, int], *, overwrite: bool) -> Iterator[Path]:
        """A scratch folder for the parts, which take their places when the block ends without an error.

        Args:
            root: Where the parts will be; made if it is not there.
            release: What the release file tells, after the mark.
            overwrite: Replace a miniature that is there. Anything else is never replaced.

        Raises:
            DataError: Something is there already.
        """
        there = self._refuse_or_list(root, overwrite=overwrite)
        root.mkdir(parents=True, exist_ok=True)
        # Inside the root, so that the finished parts can be renamed into place.
        with tempfile.TemporaryDirectory(prefix=".miniature-", dir=root) as scratch:
            new, old = Path(scratch, "new"), Path(scratch, "old")
            (new / self.data_folder).mkdir(parents=True)
            old.mkdir()
            yield new
            self._put_mark(new / self.data_folder / self.release_file, release)
            for part in self.optional:
                if (new / part).exists():
                    self._put_mark(new / part / MARK_FILE, release)
            for part in there:
                (root / part).rename(old / part)
            for part in self.parts:
                if part not in self.optional or (new / part).exists():
                    (new / part).rename(root / part)

    def _put_mark(self, path: Path, release: Mapping[str, int]) -> None:
        """Begin a file with our mark; what is in it already comes after."""
        text = f"{self.mark}\n" + "".join(f"{name}: {value}\n" for name, value in release.items())
        if path.exists():
            text += "\n" + path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")

    def _refuse_or_list(self, root: Path, *, overwrite: bool) -> list[str]:
        """What of a former miniature has to go, the data folder first; refuses whatever may not be replaced."""
        if root.exists() and not root.is_dir():
            raise DataError(f"{root} is a file: choose a folder as --root_dir.")
        there = [part for part in reversed(self.parts) if (root / part).exists()]
        if not there:
            return []
        is_ours = self._has_mark(root / self.data_folder / self.release_file)
        foreign = [
            part
            for part in there
            if not (self._has_mark(root / part / MARK_FILE) if part in self.optional else is_ours)
        ]
        if foreign:
            raise DataError(
                f"{root} holds {', '.join(foreign)} without the mark of a miniature: "
                "real data is never overwritten; choose another --root_dir."
            )
        if not overwrite:
            raise DataError(
                f"{root} holds a miniature {self.title} already: "
                "choose another --root_dir, or replace it with --overwrite."
            )
        return there

    def _has_mark(self, path: Path) -> bool:
        return path.is_file() and path.read_text(encoding="utf-8", errors="replace").startswith(self.mark)


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a table; the first row's keys name the columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
