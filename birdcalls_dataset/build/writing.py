"""The table of clips, and the file that tells how they were made."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from birdcalls_dataset import table
from birdcalls_dataset.build.chunks import Chunk
from birdcalls_dataset.build.extraction import Outcome
from birdcalls_dataset.build.rules import Rules
from wilds_targeted.audio.axes import relative_box
from wilds_targeted.files import written_whole

RELEASE_FILE = "RELEASE_v1.0.txt"
"""WILDS looks for it."""


def write_table(folder: Path, outcomes: Iterable[Outcome], split_of: Mapping[Chunk, str]) -> None:
    """Write the table of clips."""
    with (
        written_whole(folder / table.TABLE_FILE) as arriving,
        arriving.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, table.BUILD_COLUMNS, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(_row(outcome, split_of[outcome.chunk]) for outcome in outcomes)


def _row(outcome: Outcome, split: str) -> dict[str, str]:
    chunk = outcome.chunk
    row = {
        table.ID: chunk.name,
        table.SPLIT: split,
        table.AUDIO: outcome.path,
        table.SPECIES: chunk.species,
        table.MICROPHONE: chunk.recording.microphone,
        table.REGION: chunk.recording.region,
        table.RECORDING: chunk.recording.path.name,
        table.START: _number(chunk.start_s),
        table.CRC: outcome.crc,
    }
    if chunk.box is not None:
        rate = chunk.recording.sample_rate
        start, end, low, high = chunk.box.start, chunk.box.end, chunk.box.low, chunk.box.high
        relative = relative_box(start, end, low, high, seconds=chunk.frames / rate, sample_rate=rate)
        row[table.BOX] = table.format_box(relative)
        row.update({table.LOW: _number(low), table.HIGH: _number(high)})
        row.update({table.CALL_START: _number(start), table.CALL_END: _number(end)})
    return row


def _number(value: float) -> str:
    """Without what arithmetic leaves behind the sixth digit.

    >>> _number(12.5 - 10.4)
    '2.1'
    >>> _number(3600.0)
    '3600'
    """
    return f"{value:.6f}".rstrip("0").rstrip(".")


def write_release(folder: Path, rules: Rules, notes: Iterable[str]) -> None:
    """Write the file by which WILDS knows the version, with what there is to know of this build."""
    lines = [
        "BirdCalls v1.0, built from annotated recordings by `python -m birdcalls_dataset build`.",
        "It is not the authors' bundle: their bounds and held-out microphones are not published.",
        "",
        *notes,
        "",
        *(f"{name}: {value}" for name, value in asdict(rules).items()),
    ]
    with written_whole(folder / RELEASE_FILE) as arriving:
        arriving.write_text("\n".join(lines) + "\n", encoding="utf-8")
