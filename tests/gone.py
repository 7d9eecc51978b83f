"""Whether processes have ended."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path


def assert_gone(pids: Sequence[int]) -> None:
    """They end within ten seconds."""
    deadline = time.monotonic() + 10
    for pid in pids:
        while _lives(pid):
            assert time.monotonic() < deadline, f"{pid} outlived the process that started it"
            time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    # Nobody may have collected an orphan that has ended.
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
