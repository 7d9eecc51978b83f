"""Spectrograms kept on disk: one file for a data set, each record with a checksum of its own.

A record that was never written, or only in part when its process was killed, or by two processes at once, does not
have the right checksum and counts as absent. So there is no lock and nothing to repair, and loaders' workers share it.
"""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

import numpy as np

from wilds_targeted.audio.axes import CLIP_SECONDS, MELS, SAMPLE_RATE, count_frames
from wilds_targeted.audio.picture import Indices

_HEADER = struct.Struct("<IH")
_FRAMES = count_frames(int(CLIP_SECONDS * SAMPLE_RATE))
_RECORD = _HEADER.size + MELS * _FRAMES


class SpectrogramStore:
    """The colours of each clip's spectrogram, by row.

    Args:
        path: The file, which `prepare` makes. Its name must tell what it is of.
        count: How many rows there are.
    """

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        self.count = count
        self._is_writable = True

    def prepare(self) -> None:
        """Make the file, or tell once, before there are workers, that none can be made."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Opened for appending, since that makes the file without emptying one that another process made.
            with self.path.open("ab") as file:
                if file.tell() < self.count * _RECORD:
                    file.truncate(self.count * _RECORD)
        except OSError as error:
            self._give_up(error)

    def get(self, row: int) -> Indices | None:
        """What was kept of that row; None where nothing was, or it is not as it was written."""
        try:
            with self.path.open("rb") as file:
                file.seek(row * _RECORD)
                record = file.read(_RECORD)
        except OSError:
            return None
        if len(record) < _RECORD:
            return None
        checksum, frames = _HEADER.unpack_from(record)
        length = MELS * frames
        if not 0 < frames <= _FRAMES or checksum != _checksum(row, record[4 : _HEADER.size + length]):
            return None
        return np.frombuffer(record, np.uint8, length, _HEADER.size).reshape(MELS, frames)

    def put(self, row: int, indices: Indices) -> None:
        """Keep that row's spectrogram; one that is longer than a record, and one that the disk refuses, is not."""
        bands, frames = indices.shape
        if bands != MELS or frames > _FRAMES or not self._is_writable:
            return
        content = struct.pack("<H", frames) + indices.tobytes()
        try:
            with self.path.open("r+b") as file:
                file.seek(row * _RECORD)
                file.write(struct.pack("<I", _checksum(row, content)) + content)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._is_writable = False
        print(
            f"wilds-targeted: spectrograms can't be kept in {self.path} ({error.strerror}): they are computed anew for "
            f"every clip. Set WILDS_TARGETED_CACHE to a folder with room.",
            file=sys.stderr,
        )


def _checksum(row: int, content: bytes) -> int:
    """Of a record and its row: one that stands in another's place is wrong, too."""
    return zlib.crc32(content, row + 1)
