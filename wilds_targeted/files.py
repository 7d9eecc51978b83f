"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written_whole(target: str | Path) -> Iterator[Path]:
    """A temporary path beside the target, which takes the target's name when the block ends without an error.

    The temporary name keeps the target's ending, since writers choose the format by it.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}-", suffix=target.suffix)
    os.close(handle)
    arriving = Path(name)
    try:
        yield arriving
        umask = os.umask(0)
        os.umask(umask)
        arriving.chmod(0o666 & ~umask)  # mkstemp makes it private; the target is an ordinary file
        arriving.replace(target)
    finally:
        arriving.unlink(missing_ok=True)
