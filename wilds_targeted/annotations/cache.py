"""Keeps the arrays of the annotation table in one file, so that they are made once.

The file: a line with a magic word and a checksum of everything after it; a line of JSON with what the arrays were made
from and where each lies; the arrays' bytes. It is read whole, checked, and the arrays are views of what was read. No
pickle: a data folder is often shared, and a pickle runs what is in it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from wilds_targeted.annotations.build import Arrays
from wilds_targeted.annotations.locate import AnnotationFiles
from wilds_targeted.errors import AnnotationError, DataError
from wilds_targeted.files import cache_folder, written_whole

FORMAT_VERSION = 1
"""To be raised when the arrays or what they mean change."""

CACHE_NAME = ".wilds_targeted_annotations.bin"
_MAGIC = b"wilds-targeted-annotations"
_FIRST_LINE = len(_MAGIC) + len(" 01234567\n")
_ALIGNMENT = 64

_log = logging.getLogger(__name__)


class AnnotationCache:
    """The cached arrays of one ``metadata.csv`` and its annotations.

    Args:
        metadata_csv: The rows' file; the cache lies beside it where that folder can be written to.
        files: What the arrays are made from.
        cache_dir: Where the cache shall lie instead. Without it, the fallback for a folder that cannot be written to
            is `cache_folder`.

    Raises:
        DataError: ``metadata.csv`` is not there.
        AnnotationError: One of the annotations is not there.
    """

    def __init__(self, metadata_csv: Path, files: AnnotationFiles, cache_dir: Path | None = None) -> None:
        self.key = _freshness_key(metadata_csv, files)
        # Away from the data, caches of several data sets meet in one folder.
        folder = metadata_csv.resolve().parent
        name = f"annotations-{hashlib.blake2b(os.fsencode(folder), digest_size=8).hexdigest()}.bin"
        if cache_dir is not None:
            self.places = [cache_dir / name]
        else:
            self.places = [folder / CACHE_NAME, cache_folder() / name]

    def load(self) -> Arrays | None:
        """The arrays, or None where there is no cache that is fresh and whole."""
        for place in self.places:
            try:
                content = place.read_bytes()
            except OSError:
                continue
            try:
                key, arrays = _unpack(content)
            except (ValueError, KeyError, TypeError):
                _log.warning("%s: the cached annotations are damaged; they are made again", place)
                continue
            if key == self.key:
                return arrays
        return None

    def save(self, arrays: Arrays) -> None:
        """Write the arrays to the first place that takes them, whole or not at all."""
        content = _pack(self.key, arrays)
        reasons = []
        for place in self.places:
            try:
                with written_whole(place) as arriving:
                    arriving.write_bytes(content)
            except OSError as error:
                reasons.append(f"{place.parent}: {error.strerror}")
            else:
                return
        _log.warning(
            "the annotations cannot be cached (%s) and will be read anew each time; "
            "set WILDS_TARGETED_CACHE to a folder that can be written to",
            "; ".join(reasons),
        )


def _freshness_key(metadata_csv: Path, files: AnnotationFiles) -> dict[str, Any]:
    """What must be unchanged for a cache to be used; paths relative, so that a data root can be moved."""
    sources = {"metadata": metadata_csv, "detections": files.detections, "masks": files.masks}
    key: dict[str, Any] = {"version": FORMAT_VERSION}
    for name, path in sources.items():
        if path is None:
            key[name] = None
            continue
        try:
            status = path.stat()
        except OSError as error:
            kind = DataError if name == "metadata" else AnnotationError
            raise kind(f"{path}: cannot be read ({error.strerror})") from None
        # A folder's size means nothing; its time changes when a file comes or goes.
        size = None if name == "masks" else status.st_size
        key[name] = [_relative(path, metadata_csv.parent), size, status.st_mtime_ns]
    return key


def _relative(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive (Windows)
        return path.resolve().as_posix()


def _pack(key: dict[str, Any], arrays: Arrays) -> bytes:
    layout, pieces, offset = {}, [], 0
    for name, values in arrays.items():
        raw = values.tobytes()
        layout[name] = {"dtype": values.dtype.str, "shape": values.shape, "offset": offset}
        pieces += [raw, bytes(-len(raw) % _ALIGNMENT)]
        offset += len(raw) + len(pieces[-1])
    header = json.dumps({"key": key, "arrays": layout}).encode()
    # Spaces, which JSON ignores, bring the arrays to an aligned place: numpy is slower elsewhere.
    padding = b" " * (-(_FIRST_LINE + len(header) + 1) % _ALIGNMENT)
    body = b"".join([header, padding, b"\n", *pieces])
    return b"%s %08x\n%s" % (_MAGIC, zlib.crc32(body), body)


def _unpack(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """The key and the arrays of a cache file; raises ValueError, KeyError or TypeError for anything else."""
    checksum = zlib.crc32(memoryview(content)[_FIRST_LINE:])
    if content[:_FIRST_LINE] != b"%s %08x\n" % (_MAGIC, checksum):
        raise ValueError("not a cache file, or a damaged one")
    end = content.index(b"\n", _FIRST_LINE)
    header = json.loads(content[_FIRST_LINE:end])
    arrays = {}
    for name, where in header["arrays"].items():
        shape, dtype = where["shape"], np.dtype(where["dtype"])
        values = np.frombuffer(content, dtype, int(np.prod(shape)), end + 1 + where["offset"])
        arrays[name] = values.reshape(shape)
    return header["key"], arrays
