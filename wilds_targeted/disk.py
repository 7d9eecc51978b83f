"""Bytes on the disk: is there room for them, are they the published ones, and a bar that counts them."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from wilds_targeted.errors import DataError


def readable_size(number: float) -> str:
    """A number of bytes for people.

    >>> [readable_size(number) for number in (0, 999, 1500, 5_300_000_000)]
    ['0 bytes', '999 bytes', '1.5 kB', '5.3 GB']
    """
    if number < 1000:
        return f"{number:.0f} bytes"
    for unit in ("kB", "MB", "GB"):
        number /= 1000
        if number < 1000:
            return f"{number:.1f} {unit}"
    return f"{number / 1000:.1f} TB"


def demand_space(folder: Path, needed: int, purpose: str) -> None:
    """Refuse to begin what the disk has no room for.

    Args:
        folder: A folder that is there, on the disk to look at.
        needed: How many more bytes it takes.
        purpose: What they are for, as the message says it.

    Raises:
        DataError: There are fewer.
    """
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DataError(
            f"{folder}: {purpose} takes {readable_size(needed)} more, and {readable_size(free)} are free. Make room, "
            f"or choose a folder on another disk."
        )


def byte_bar(title: str, total: int | None, progress: bool) -> tqdm[Any]:
    """A bar that counts bytes, on a terminal, where progress is wanted."""
    hidden = None if progress else True  # None: hidden unless on a terminal
    return tqdm(desc=title, total=total, unit="B", unit_scale=True, dynamic_ncols=True, leave=False, disable=hidden)


def say(text: str, progress: bool) -> None:
    """A line on standard error, beside the bars, where progress is wanted."""
    if progress:
        tqdm.write(text, file=sys.stderr)


def parse_checksum(checksum: str) -> tuple[str, str]:
    """The algorithm and the digest of a published checksum.

    >>> parse_checksum("md5:D41D8CD98F00B204E9800998ECF8427E")
    ('md5', 'd41d8cd98f00b204e9800998ecf8427e')

    Raises:
        DataError: It is of no known kind, or no digest of that kind.
    """
    algorithm, _, digest = checksum.lower().partition(":")
    is_known = algorithm in hashlib.algorithms_guaranteed and not algorithm.startswith("shake")
    length = 2 * hashlib.new(algorithm, usedforsecurity=False).digest_size if is_known else 0
    if not is_known or not re.fullmatch(f"[0-9a-f]{{{length}}}", digest):
        raise DataError(f"{checksum!r} is no checksum that can be checked: it must look like md5:… or sha256:….")
    return algorithm, digest


def fault_of(path: Path, size: int | None, checksum: str | None, progress: bool = True) -> str | None:
    """What is wrong with a file, as the end of a sentence that begins with its name; None where nothing is.

    Args:
        path: The file.
        size: How many bytes it must have, where that is published.
        checksum: ``md5:…`` or ``sha256:…`` of it, where that is published.
        progress: Whether a bar is shown.
    """
    if not path.is_file():
        return "is no file"
    length = path.stat().st_size
    if size is not None and length != size:
        return f"has {length} bytes where {size} are published"
    if checksum is None:
        return None
    algorithm, expected = parse_checksum(checksum)
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file, byte_bar(f"checking {path.name}", length, progress) as bar:
        while piece := file.read(1 << 20):
            digest.update(piece)
            bar.update(len(piece))
    if digest.hexdigest() != expected:
        return f"has the {algorithm} {digest.hexdigest()} where {expected} is published"
    return None
