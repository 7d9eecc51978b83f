"""Recordings and annotations for the tests of the build: noise, whose every sample is known."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import soundfile

HEADER = (
    "Filename",
    "Start Time (s)",
    "End Time (s)",
    "Low Freq (Hz)",
    "High Freq (Hz)",
    "Species eBird Code",
)
Row = tuple[object, ...]


def noise(name: str, seconds: float, rate: int = 32_000) -> np.ndarray:
    """The samples of the recording of that name."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).integers(-999, 999, round(seconds * rate), dtype=np.int16)


def write_recording(path: Path, seconds: float, rate: int = 32_000, subtype: str = "PCM_16") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = noise(path.name, seconds, rate)
    soundfile.write(str(path), samples / 32768 if subtype == "FLOAT" else samples, rate, subtype=subtype)
    return path


def write_annotations(folder: Path, rows: Iterable[Row], header: Sequence[str] = HEADER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "annotations.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
