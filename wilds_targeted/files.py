"""Files that are written whole or not at all, and the folder for what this tool keeps."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

CACHE_VARIABLE = "WILDS_TARGETED_CACHE"


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where this tool keeps what it fetches and makes: $WILDS_TARGETED_CACHE, or a folder in the user's cache.

    A user without a home, as containers have them, gets a folder beside other temporary ones.
    """
    if environ.get(CACHE_VARIABLE):
        return Path(environ[CACHE_VARIABLE]).expanduser()
    try:
        return Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "wilds-targeted"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / "wilds-targeted"


@contextlib.contextmanager
def written_whole(target: str | Path) -> Iterator[Path]:
    """A temporary path beside the target, which takes the target's name when the block ends without an error.

    The temporary name keeps the target's ending, since writers choose the format by it.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    arriving = target.with_name(f".{target.stem}.{secrets.token_hex(8)}{target.suffix}")
    try:
        yield arriving
        with arriving.open("rb") as file:
            os.fsync(file.fileno())
        arriving.replace(target)
    finally:
        arriving.unlink(missing_ok=True)
