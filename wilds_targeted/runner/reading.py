"""Images that can't be read, or not to their end.

A truncated image loads as in WILDS, as far as it goes; here it is also counted and listed. One that can't be read at
all stops the run, or, with ``--on_bad_example skip``, is found before training and taken out of its split.
"""

from __future__ import annotations

import contextlib
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import ImageFile
from torch.utils.data import DataLoader, Dataset
from wilds.datasets.wilds_dataset import WILDSSubset

from wilds_targeted.errors import DataError
from wilds_targeted.example import Example, load_example
from wilds_targeted.files import written_whole
from wilds_targeted.runner.progress import show_progress
from wilds_targeted.runner.state import STATE_FILE

TRUNCATED_FILE = "truncated_examples.csv"
SKIPPED_FILE = "skipped_examples.csv"
_HINT = "Or leave such examples out: --on_bad_example skip."


@contextlib.contextmanager
def _truncated_images(*, allowed: bool) -> Iterator[None]:
    """Whether Pillow takes an image that ends early for a whole one; a switch of the process, and put back."""
    before = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = allowed
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


class Reader:
    """Reads examples, and remembers the rows whose images are truncated.

    The marks lie in shared memory, where loader workers set them.

    Args:
        dataset: The full `WILDSDataset`.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self._truncated = torch.zeros(len(dataset), dtype=torch.uint8).share_memory_()  # type: ignore[no-untyped-call]
        self._told: set[int] = set()

    def read(self, row: int) -> Example:
        """That row; a truncated image as far as it goes."""
        with _truncated_images(allowed=False), contextlib.suppress(DataError):
            return load_example(self.dataset, row)
        with _truncated_images(allowed=True):  # this tells whether it is truncated or worse
            example = load_example(self.dataset, row)
        self._truncated[row] = 1
        return example

    def truncated_rows(self) -> list[int]:
        """The rows whose images were found truncated so far."""
        rows: list[int] = self._truncated.nonzero().flatten().tolist()
        return rows

    def mark_truncated(self, rows: list[int]) -> None:
        """Remember rows that an earlier session of the run found."""
        self._truncated[rows] = 1

    def report(self, folder: Path) -> None:
        """List what was found since the last report, in the file and in a line on standard error."""
        rows = self.truncated_rows()
        fresh = [row for row in rows if row not in self._told]
        if not fresh:
            return
        self._told.update(fresh)
        _write_list(folder / TRUNCATED_FILE, ("row", "file"), [(row, name_of(self.dataset, row)) for row in rows])
        names = ", ".join(name_of(self.dataset, row) for row in fresh[:3])
        print(
            f"wilds-targeted: warning: {len(fresh)} truncated image{'s' * (len(fresh) > 1)} read as far as possible: "
            f"{names}{', …' * (len(fresh) > 3)} ({folder / TRUNCATED_FILE} lists all)",
            file=sys.stderr,
        )


class ReadingSubset(WILDSSubset):  # type: ignore[misc]
    """A `WILDSSubset` that reads through a `Reader` and hands an Example to transforms that ask for one.

    Args:
        subset: The subset that WILDS made.
        reader: Reads its rows.
    """

    def __init__(self, subset: WILDSSubset, reader: Reader) -> None:
        super().__init__(subset.dataset, subset.indices, subset.transform)
        self.reader = reader

    def __getitem__(self, idx: int) -> tuple[Any, Any, Any]:
        try:
            example = self.reader.read(int(self.indices[idx]))
        except DataError as error:
            raise DataError(f"{error} {_HINT}") from error
        if self.transform is None:
            return example.x, example.y, example.metadata
        # What augmentations read by themselves loads as in WILDS, which allows it in its whole script.
        with _truncated_images(allowed=True):
            x = self.transform(example if getattr(self.transform, "wants_example", False) else example.x)
        return x, example.y, example.metadata


class _Scan(Dataset[tuple[int, str]]):
    """For each row what is wrong with it; nothing for a good one."""

    def __init__(self, reader: Reader, rows: NDArray[np.int64]) -> None:
        self.reader = reader
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, position: int) -> tuple[int, str]:
        row = int(self.rows[position])
        try:
            self.reader.read(row)
        except DataError as error:
            return row, str(error)
        return row, ""


def leave_out_bad_examples(reader: Reader, folder: Path, config: Any) -> None:
    """Read every example once, and take those that can't be read out of their splits.

    The rows found stand in a file of the log folder, which a run that goes on reads instead.
    """
    dataset = reader.dataset
    listed = folder / SKIPPED_FILE
    if config.resume and listed.is_file() and (folder / STATE_FILE).is_file():
        with listed.open(newline="", encoding="utf-8") as file:
            bad = [int(line["row"]) for line in csv.DictReader(file)]
    else:
        found = _scan(reader, config)
        split_of = {number: split for split, number in dataset.split_dict.items()}
        lines = [(row, split_of[int(dataset.split_array[row])], reason) for row, reason in found]
        _write_list(listed, ("row", "split", "reason"), lines)
        bad = [row for row, _ in found]
    if bad:
        # No split has this number, so neither subsets nor augmentations see these rows.
        split_array = np.array(dataset.split_array)
        split_array[bad] = -1
        dataset._split_array = split_array
        print(
            f"wilds-targeted: warning: {len(bad)} example{'s' * (len(bad) > 1)} can't be read and "
            f"{'are' if len(bad) > 1 else 'is'} left out ({listed} lists all)",
            file=sys.stderr,
        )


def _scan(reader: Reader, config: Any) -> list[tuple[int, str]]:
    numbers = list(reader.dataset.split_dict.values())
    rows = np.flatnonzero(np.isin(reader.dataset.split_array, numbers))
    loader = DataLoader(
        _Scan(reader, rows),
        batch_size=64,
        num_workers=config.loader_kwargs.get("num_workers", 0),
        collate_fn=list,
        # Iterating over a loader draws from torch's global generator, unless it has one of its own.
        generator=torch.Generator(),
    )
    batches = show_progress(loader, len(loader), "reading every example", "batch", config.progress_bar)
    return [(row, reason) for batch in batches for row, reason in batch if reason]


def name_of(dataset: Any, row: int) -> str:
    """The file of a row, as far as the data set tells."""
    names = getattr(dataset, "_input_array", None)
    return str(names[row]) if names is not None else f"row {row}"


def _write_list(path: Path, header: tuple[str, ...], lines: list[tuple[Any, ...]]) -> None:
    with written_whole(path) as arriving, arriving.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)
