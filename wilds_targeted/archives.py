"""Unpack a zip that may be broken or hostile: whole or not at all, and never outside its folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from wilds_targeted.disk import byte_bar, demand_space, readable_size
from wilds_targeted.errors import DataError, one_line

ENCRYPTION_FLAGS = 0x1 | 0x40 | 0x2000

# Python's decompressors for the other methods can't be told to stop: a few kilobytes would fill the memory.
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}

MACOS_EXTRAS = "__MACOSX"
"""The folder in which macOS packs what other systems have no place for; it holds no files of its own."""


@dataclass(frozen=True)
class Limits:
    """What an archive may come to.

    Args:
        entries: How many files and folders.
        total_bytes: How many bytes when unpacked.
        ratio: How many times its own size when unpacked.
    """

    entries: int = 200_000
    total_bytes: int = 1 << 40
    ratio: float = 200.0


DEFAULT_LIMITS = Limits()


def unpack_zip(archive: Path, folder: Path, *, limits: Limits = DEFAULT_LIMITS, progress: bool = True) -> int:
    """Unpack an archive as a new folder, which appears when all of it is there and its checksums are right.

    An archive that holds one folder of the new folder's name and nothing else is unpacked as that folder, not as a
    folder in it. Times and permissions are not kept.

    Args:
        archive: The zip.
        folder: The folder to make. The caller keeps other processes from unpacking to it at the same time.
        limits: What it may come to.
        progress: Whether a bar is shown.

    Returns:
        How many files it holds.

    Raises:
        DataError: The folder is there, there is no room for it, or the archive is broken or unsafe.
    """
    if folder.exists():
        raise DataError(f"{folder} is there already; remove it to unpack {archive} again.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _reading(archive):
        opened = zipfile.ZipFile(archive)
    with opened:
        files = _checked_files(opened, archive, folder.name, limits)
        total = sum(entry.file_size for entry in files.values())
        demand_space(folder.parent, total, f"unpacking {archive.name}")
        arriving = folder.with_name(f".{folder.name}.unpacking")
        _remove(arriving)  # of a process that was killed
        try:
            arriving.mkdir()
            with byte_bar(f"unpacking {archive.name}", total, progress) as bar:
                for path, entry in files.items():
                    _unpack(opened, entry, arriving / path, archive, bar)
            arriving.rename(folder)
        finally:
            _remove(arriving)
    return len(files)


def name_fault(name: str) -> str | None:
    """Why a name from outside can't be that of a file in a folder, on any system; None where it can.

    >>> [name_fault(name) for name in ("a.csv", "..", "a/b", "C:", "a ")]
    [None, "is '..'", "has a '/' in it", "has a ':' in it", 'ends with a dot or a space']
    """
    if name in ("", ".", ".."):
        return f"is {name!r}"
    for character in name:
        if character in "/\\:" or unicodedata.category(character) in ("Cc", "Cs"):
            return f"has a {character!r} in it"
    if name[-1] in ". ":
        return "ends with a dot or a space"
    return "is too long" if len(os.fsencode(name)) > 255 else None


@contextlib.contextmanager
def _reading(archive: Path) -> Iterator[None]:
    """Turn what a broken archive raises into one line; nothing but the archive may be used inside."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{archive}: there is no such file.") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        OSError,
        ValueError,
        OverflowError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise _broken(archive, one_line(error)) from None


def _broken(archive: Path, reason: str) -> DataError:
    return DataError(f"{archive} is no whole zip archive ({reason}). Remove it and fetch it again.")


def _refused(archive: Path, reason: str) -> DataError:
    return DataError(
        f"{archive} is not unpacked: {reason}. Fetch it again from its source, or, if you trust it, unpack it by hand."
    )


def _checked_files(opened: zipfile.ZipFile, archive: Path, top: str, limits: Limits) -> dict[Path, zipfile.ZipInfo]:
    """The files to write, by path; every entry is checked before the first is written."""
    entries = opened.infolist()
    if len(entries) > limits.entries:
        raise _refused(archive, f"it has {len(entries)} entries, more than {limits.entries}")
    total = sum(entry.file_size for entry in entries)
    allowed = min(limits.total_bytes, int(limits.ratio * archive.stat().st_size))
    if total > allowed:
        raise _refused(archive, f"it would come to {readable_size(total)}, more than {readable_size(allowed)}")
    files: dict[tuple[str, ...], zipfile.ZipInfo] = {}
    taken: set[tuple[str, ...]] = set()
    folders: set[tuple[str, ...]] = set()
    for entry in entries:
        fault = _fault_of(entry)
        if fault is not None:
            raise _refused(archive, f"its entry {entry.orig_filename!r} {fault}")
        parts = tuple(entry.filename.rstrip("/").split("/"))
        folded = _folded(parts)
        above = {folded[:depth] for depth in range(1, len(folded))}
        if folded in taken or above & taken or (folded in folders and not entry.is_dir()):
            raise _refused(archive, f"its entry {entry.filename!r} would overwrite another one")
        folders |= above
        if entry.is_dir():
            folders.add(folded)
        else:
            taken.add(folded)
            files[parts] = entry
    files = {parts: entry for parts, entry in files.items() if parts[0] != MACOS_EXTRAS}
    if not files:
        raise _refused(archive, "it holds no files")
    skipped = int(all(len(parts) > 1 and parts[0] == top for parts in files))
    return {Path(*parts[skipped:]): entry for parts, entry in files.items()}


def _folded(parts: tuple[str, ...]) -> tuple[str, ...]:
    """A path as systems see it that don't tell case, or ways to write an accent, apart."""
    return tuple(unicodedata.normalize("NFC", part).casefold() for part in parts)


def _fault_of(entry: zipfile.ZipInfo) -> str | None:
    """Why an entry is not unpacked; None where it is."""
    name = entry.orig_filename  # zipfile cuts the other one at a NUL, and turns a system's separators into slashes
    for part in name.removesuffix("/").split("/"):
        fault = name_fault(part)
        if fault is not None:
            return "is an absolute path" if name.startswith("/") else f"can't be a path here: a part of it {fault}"
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFDIR if entry.is_dir() else stat.S_IFREG):
        return "is a link, a device or the like"
    if entry.flag_bits & ENCRYPTION_FLAGS:
        return "is encrypted"
    if entry.compress_type not in METHODS:
        return f"is compressed by method {entry.compress_type}, and only 0 and 8 (deflate) are read here"
    return None


def _unpack(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, archive: Path, bar: tqdm[Any]) -> None:
    """Write one file; zipfile compares its checksum at the end, and never gives more than the announced size."""
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with _reading(archive):
        source = opened.open(entry)
    with source, target.open("xb") as file:
        while True:
            with _reading(archive):
                piece = source.read(1 << 20)
            if not piece:
                break
            file.write(piece)
            written += len(piece)
            bar.update(len(piece))
        file.flush()
        os.fsync(file.fileno())  # the archive may be removed next
    if written != entry.file_size:
        raise _broken(archive, f"{entry.filename!r} has {written} bytes where {entry.file_size} are announced")


def _remove(folder: Path) -> None:
    """Remove what an unpacking has left."""
    if folder.exists():
        shutil.rmtree(folder)
