"""Where units run: one small interface, and this machine behind it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

from wilds_targeted.errors import ConfigError
from wilds_targeted.experiments import warm
from wilds_targeted.experiments.processes import Command, Job, Pool, core_count, own_command, share_of_cores
from wilds_targeted.experiments.sweep.unit import OUTPUT_FILE

_GPUS = "CUDA_VISIBLE_DEVICES"


class Backend(Protocol):
    """Where units run.

    Attributes:
        at_a_time: How many units run at once, for estimates of the time left.
    """

    at_a_time: int

    def submit(self, key: str, params: dict[str, Any]) -> Future[Any]:
        """Have `work.do_unit(params)` done somewhere that sees the unit's folder.

        The future ends, with any value, when the unit's result stands in its folder; it raises what went wrong.

        Args:
            key: The unit's name, for messages and lists of jobs.
            params: Plain data, such as JSON can carry.
        """


class LocalPool:
    """Processes on this machine; they die with this one, and leave their checkpoints.

    Args:
        jobs: How many at a time; as many as GPUs by default, or as cores where there is no GPU.
        gpus: Which GPUs; all that are visible by default. Each job gets one; more jobs than GPUs share them.
        command: From what follows ``wilds-targeted`` to the command that does it.
        is_warm: Whether processes may start with torch and WILDS imported. WILDS's own script needs fresh ones: what
            the bridge adds to WILDS comes in while that is imported.
    """

    def __init__(
        self,
        jobs: int | None = None,
        gpus: Sequence[str] | None = None,
        command: Command = own_command,
        is_warm: bool = True,
    ) -> None:
        gpus = visible_gpus() if gpus is None else gpus
        self.at_a_time = jobs or len(gpus) or core_count()
        self._command = command
        self._is_warm = is_warm and command is own_command and warm.is_available()
        slots = [
            share_of_cores(self.at_a_time) | ({_GPUS: gpus[number % len(gpus)]} if gpus else {})
            for number in range(self.at_a_time)
        ]
        # In this process's folder, so that relative paths among the flags mean what they mean here.
        self._pool = Pool(slots, Path.cwd())

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.__exit__()

    def submit(self, key: str, params: dict[str, Any]) -> Future[Any]:
        """Run it in a process of its own, when there is a place for it."""
        words, output = ["sweep", "unit", json.dumps(params)], Path(params["folder"]) / OUTPUT_FILE
        if self._is_warm:
            warm.warm_up()
            return self._pool.submit(Job(f"unit {key}", tuple(words), output, is_own=True))
        return self._pool.submit(Job(f"unit {key}", tuple(self._command(words)), output))


def visible_gpus() -> list[str]:
    """The names of the GPUs that a process here would see, without loading torch."""
    if _GPUS in os.environ:
        return [word.strip() for word in os.environ[_GPUS].split(",") if word.strip() not in ("", "-1")]
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    listed = subprocess.run([program, "--list-gpus"], capture_output=True, text=True)
    lines = [line for line in listed.stdout.splitlines() if line.startswith("GPU ")]
    return [str(number) for number in range(len(lines))] if listed.returncode == 0 else []


def parse_gpus(text: str) -> list[str]:
    """The GPUs that ``--gpus`` names: numbers or UUIDs, with commas between."""
    gpus = [word.strip() for word in text.split(",")]
    if not all(gpus) or len(set(gpus)) < len(gpus):
        raise ConfigError(f"--gpus {text}: numbers with commas between, each once, are expected, such as 0,1")
    return gpus
