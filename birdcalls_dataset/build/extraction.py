"""Cuts clips out of recordings: only the clips' own samples are read, some recordings at a time."""

from __future__ import annotations

import io
import itertools
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from birdcalls_dataset.build.chunks import Chunk
from wilds_targeted.errors import one_line
from wilds_targeted.files import written_whole

AUDIO_FOLDER = "audio"
BATCH = 16
"""How many clips of a recording a thread cuts at a time: few, so that one long recording keeps all threads busy."""

_FORMATS = {"PCM_16": ("int16", "PCM_16"), "PCM_24": ("int32", "PCM_24"), "PCM_S8": ("int16", "PCM_S8")}
"""By the recording's encoding: how samples are held, and how the clip is encoded; without loss."""
_OTHER_FORMAT = ("float64", "PCM_24")
"""FLAC has no more than 24 bits, and nothing beyond full scale: floating-point samples beyond ±1 are clipped."""


@dataclass(frozen=True)
class Outcome:
    """What came of a chunk.

    Attributes:
        chunk: The chunk.
        path: The clip's file, relative to the data set's folder.
        crc: The checksum of that file; empty where there is none.
        trouble: Why there is none.
    """

    chunk: Chunk
    path: str
    crc: str = ""
    trouble: str = ""


def extract(chunks: Iterable[Chunk], folder: Path, jobs: int) -> Generator[Outcome, None, None]:
    """Write the chunks that are not there yet as clips, and tell of all, in order.

    Args:
        chunks: Ordered by recording.
        folder: The data set's folder. Clips in it are taken as they are: they were written whole.
        jobs: How many threads; the library that decodes and encodes lets them run at the same time.
    """
    (folder / AUDIO_FOLDER).mkdir(exist_ok=True)
    batches = [
        tuple(batch)
        for _, members in itertools.groupby(chunks, key=lambda chunk: chunk.recording)
        for batch in _batched(list(members))
    ]
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="extract")
    try:
        for outcomes in pool.map(lambda batch: _cut_batch(batch, folder), batches):
            yield from outcomes
    finally:
        pool.shutdown(cancel_futures=True)


def _batched(chunks: Sequence[Chunk]) -> Iterator[Sequence[Chunk]]:
    for start in range(0, len(chunks), BATCH):
        yield chunks[start : start + BATCH]


def _cut_batch(chunks: Sequence[Chunk], folder: Path) -> list[Outcome]:
    """Clips of one recording."""
    outcomes = []
    for chunk in chunks:
        path = f"{AUDIO_FOLDER}/{chunk.name}.flac"
        target = folder / path
        if target.is_file():
            outcomes.append(Outcome(chunk, path, crc=_crc(target.read_bytes())))
            continue
        try:
            encoded = _encoded(chunk)
        except (soundfile.SoundFileError, OSError, EOFError, ValueError) as error:
            outcomes.append(Outcome(chunk, path, trouble=one_line(error)))
            continue
        with written_whole(target) as arriving:
            arriving.write_bytes(encoded)
        outcomes.append(Outcome(chunk, path, crc=_crc(encoded)))
    return outcomes


def _encoded(chunk: Chunk) -> bytes:
    """The clip; in memory, so that a full disk is an error of Python's own, which says so."""
    samples, encoding = _read(chunk)
    encoded = io.BytesIO()
    soundfile.write(encoded, samples, chunk.recording.sample_rate, format="FLAC", subtype=encoding)
    return encoded.getvalue()


def _read(chunk: Chunk) -> tuple[NDArray[np.generic], str]:
    """The chunk's samples and the encoding for them."""
    with soundfile.SoundFile(str(chunk.recording.path)) as file:
        kind, encoding = _FORMATS.get(file.subtype, _OTHER_FORMAT)
        file.seek(chunk.start)
        samples: NDArray[np.generic] = file.read(chunk.frames, dtype=kind)
    if len(samples) < chunk.frames:
        raise EOFError(f"the sound ends after {chunk.start + len(samples)} of {chunk.recording.frames} samples.")
    if kind == "float64" and not np.isfinite(samples).all():
        raise ValueError("some samples are not numbers")
    return samples, encoding


def _crc(content: bytes) -> str:
    return f"{zlib.crc32(content):08x}"
