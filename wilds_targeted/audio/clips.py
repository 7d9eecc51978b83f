"""Clips read from disk."""

from __future__ import annotations

import io
import zlib
from pathlib import Path

import numpy as np
import soundfile

from wilds_targeted.audio.picture import Floats
from wilds_targeted.errors import DataError, one_line


def read_clip(path: Path, crc32: str | None = None) -> tuple[Floats, int]:
    """The samples of a clip, from -1 to 1, and its sampling rate in hertz.

    Args:
        path: A file that libsndfile reads: FLAC, WAV, Ogg, MP3.
        crc32: The checksum that its bytes must have, as eight hexadecimal digits; None where it is not known.

    Raises:
        DataError: The file is missing or broken, another one than expected, or has no sound.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: the clip can't be read ({error.strerror}); restore it, or build anew.") from error
    if crc32 and f"{zlib.crc32(content):08x}" != crc32.lower():
        raise DataError(
            f"{path}: the clip's checksum is {zlib.crc32(content):08x}, where the table tells {crc32}; restore the "
            f"file, or build the data set anew."
        )
    try:
        samples, rate = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise DataError(f"{path}: is no audio that can be decoded ({one_line(error)}).") from error
    if not len(samples):
        raise DataError(f"{path}: the clip has no samples.")
    if not np.isfinite(samples).all():
        raise DataError(f"{path}: the clip has samples that are no numbers.")
    mono: Floats = samples[:, 0] if samples.shape[1] == 1 else samples.mean(axis=1, dtype=np.float32)
    return mono, int(rate)
