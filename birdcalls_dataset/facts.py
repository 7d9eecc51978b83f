"""What a copy of BirdCalls holds: counted when it is made, written beside it, and checked whenever it is loaded."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import soundfile

from birdcalls_dataset.table import (
    AUDIO,
    EMPTY,
    MICROPHONE,
    PICTURE,
    REGION,
    SPECIES,
    SPLIT,
    SPLITS,
    TABLE_FILE,
    read_table,
)
from wilds_targeted.errors import DataError, one_line
from wilds_targeted.files import written_whole

FACTS_FILE = "facts.json"

PUBLISHED = {"train": 2089, "id_val": 407, "id_test": 1677, "ood_train": 365, "ood_val": 69, "test": 290}
"""How many clips the authors' bundle has in each split (appendix A.3); it travels without a file of facts."""


@dataclass(frozen=True)
class Facts:
    """Counts of a copy of the data set.

    Args:
        sha256: Of the table `combined.csv`.
        clips: How many there are.
        splits: How many in each split.
        microphones: By microphone, how many in each split.
        regions: How many in each region.
        classes: How many of each species, the empty ones included.
        seconds: How many clips have each duration.
        sampling_rates: How many clips have each sampling rate, in hertz.
    """

    sha256: str
    clips: int
    splits: dict[str, int]
    microphones: dict[str, dict[str, int]]
    regions: dict[str, int]
    classes: dict[str, int]
    seconds: dict[str, int]
    sampling_rates: dict[str, int]

    def __str__(self) -> str:
        """The facts as a table for people."""
        lines = [
            f"{self.clips} clips, {len(self.classes) - (EMPTY in self.classes)} species, "
            f"{len(self.microphones)} microphones, {len(self.regions)} regions"
        ]
        lines += [
            "",
            *_columns(
                [("microphone", *SPLITS, "all")]
                + [
                    (name, *(str(counts.get(split, 0)) for split in SPLITS), str(sum(counts.values())))
                    for name, counts in self.microphones.items()
                ]
                + [("all", *(str(self.splits.get(split, 0)) for split in SPLITS), str(self.clips))]
            ),
        ]
        for title, counts in (
            ("region", self.regions),
            ("class", self.classes),
            ("seconds", self.seconds),
            ("sampling rate", self.sampling_rates),
        ):
            lines += ["", *_columns([(title, "clips"), *((name, str(count)) for name, count in counts.items())])]
        return "\n".join(lines)


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def gather_facts(folder: Path) -> Facts:
    """Count what lies in that folder; every clip's header is read.

    Raises:
        DataError: The table or a clip is missing or broken.
    """
    table = read_table(folder / TABLE_FILE)
    sounds = [name for name in table[AUDIO] if name]
    with ThreadPoolExecutor() as pool:
        headers = list(pool.map(lambda name: _header(folder / name), sounds))
    return Facts(
        **_counted(folder, table),
        seconds=_tally(pd.Series([duration(frames, rate) for frames, rate in headers])),
        sampling_rates=_tally(pd.Series([str(rate) for _, rate in headers])),
    )


def duration(frames: int, rate: int) -> str:
    """Seconds, as the facts tell them.

    >>> duration(160_000, 32_000)
    '5'
    """
    return f"{round(frames / rate, 3):g}"


def _header(path: Path) -> tuple[int, int]:
    try:
        info = soundfile.info(str(path))
    except soundfile.LibsndfileError as error:
        raise DataError(f"{path}: can't be read as audio ({one_line(error)}).") from error
    return int(info.frames), int(info.samplerate)


def _counted(folder: Path, table: pd.DataFrame) -> dict[str, Any]:
    """What the table alone tells."""
    by_microphone = {
        str(name): _tally(rows[SPLIT])
        for name, rows in sorted(table.groupby(MICROPHONE, sort=False), key=lambda g: str(g[0]))
    }
    return {
        "sha256": sha256_of(folder / TABLE_FILE),
        "clips": len(table),
        "splits": _tally(table[SPLIT]),
        "microphones": by_microphone,
        "regions": _tally(table[REGION]),
        "classes": _tally(table[SPECIES]),
    }


def _tally(values: pd.Series[Any]) -> dict[str, int]:
    counts: Mapping[Any, int] = values.value_counts().to_dict()
    return {str(name): int(counts[name]) for name in sorted(counts, key=str)}


def write_facts(folder: Path) -> Facts:
    """Count what lies in that folder, and write the file of facts."""
    facts = gather_facts(folder)
    with written_whole(folder / FACTS_FILE) as arriving:
        arriving.write_text(json.dumps(asdict(facts), indent=2) + "\n", encoding="utf-8")
    return facts


def check_facts(folder: Path, table: pd.DataFrame) -> Facts | None:
    """Compare a table with the facts that travel with it; the authors' bundle with the numbers of the paper.

    Returns:
        The facts; None for the authors' bundle, which travels without.

    Raises:
        DataError: They differ, or there is nothing to compare with, or a clip's file is not there.
    """
    path = folder / FACTS_FILE
    facts = _read_facts(path) if path.is_file() else None
    if facts is None:
        counts = _tally(table[SPLIT])
        if counts != PUBLISHED:
            raise DataError(
                f"{folder} has no {FACTS_FILE}, and {TABLE_FILE} has {counts} clips, where the authors' bundle has "
                f"{PUBLISHED}. If it is what you mean to use, write its facts: "
                f"python -m birdcalls_dataset facts {folder}"
            )
    else:
        _compare(folder, table, facts)
    _demand_files(folder, table)
    return facts


def _compare(folder: Path, table: pd.DataFrame, facts: Facts) -> None:
    sounds = int((table[AUDIO] != "").sum())
    pairs = {name: (getattr(facts, name), found) for name, found in _counted(folder, table).items()}
    for name in ("seconds", "sampling_rates"):
        pairs[name] = (f"of {sum(getattr(facts, name).values())} clips", f"of {sounds} clips")
    for name, (told, found) in pairs.items():
        if told != found:
            raise DataError(
                f"{folder / TABLE_FILE} is not the one that {FACTS_FILE} tells of: {name} {told} there, {found} found. "
                f"Restore both from the same copy; or, after a change of your own, write the facts anew: "
                f"python -m birdcalls_dataset facts {folder}"
            )


def _read_facts(path: Path) -> Facts:
    try:
        facts = Facts(**json.loads(path.read_text(encoding="utf-8")))
        for tally in (facts.seconds, facts.sampling_rates):
            if not all(isinstance(count, int) and float(name) > 0 for name, count in tally.items()):
                raise ValueError("durations and sampling rates must be numbers with counts")
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: is not a file of facts ({one_line(error)}); restore it from the copy that it came with."
        ) from error
    return facts


def _demand_files(folder: Path, table: pd.DataFrame) -> None:
    """Every file that the table names is there; whole folders are listed, which is faster than asking for each file."""
    listed: dict[Path, set[str]] = {}
    for column in (PICTURE, AUDIO):
        for row, name in enumerate(table[column]):
            path = folder / name
            if not name:
                continue
            if path.parent not in listed:
                listed[path.parent] = {each.name for each in os.scandir(path.parent)} if path.parent.is_dir() else set()
            if path.name not in listed[path.parent]:
                raise DataError(
                    f"{folder / TABLE_FILE}, row {row + 2}: {path} is not there; restore it, or the whole copy."
                )


def sha256_of(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
