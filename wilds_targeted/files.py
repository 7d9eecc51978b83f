"""Files that are written whole or not at all, and the folder for what this tool keeps."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from wilds_targeted.errors import RunError

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


def remove_leftovers(folder: Path) -> None:
    """Remove what `written_whole` was writing into that folder when its process was killed."""
    for path in folder.iterdir():
        if is_leftover(path):
            path.unlink(missing_ok=True)


def is_leftover(path: Path) -> bool:
    """Whether that is a file that `written_whole` did not finish."""
    return re.fullmatch(r"\..+\.[0-9a-f]{16}(\.\w+)?", path.name) is not None and path.is_file()


_locks: set[int] = set()


def _close_locks() -> None:
    """Let go of the locks in a forked child: a worker that outlives its killed parent must not hold them."""
    while _locks:
        os.close(_locks.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_locks)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of that folder; the lock ends with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RunError(f"{folder}: another run is writing there. Wait for it, or choose another folder.") from None
    _locks.add(descriptor)
    try:
        yield
    finally:
        _locks.discard(descriptor)
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether a living process holds that lock; False where there are no locks, or nothing to lock."""
    try:
        import fcntl

        with contextlib.ExitStack() as stack:
            descriptor = os.open(path, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (FileNotFoundError, ImportError):
        return False
    return False
