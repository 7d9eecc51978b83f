"""Runs commands, some at a time; none outlives this process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from wilds_targeted.errors import WildsTargetedError
from wilds_targeted.experiments.warm import WarmProcess

POLL_SECONDS = 0.2
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


Process = subprocess.Popen[bytes] | WarmProcess


class JobError(WildsTargetedError):
    """A command failed."""


@dataclass(frozen=True)
class Job:
    """A command to run.

    Args:
        name: For messages.
        argv: The command.
        output: The file that takes what it prints; None lets its progress and its errors through to the terminal.
        is_own: Whether `argv` is what follows ``wilds-targeted``, to be run in a process that has all of it imported.
    """

    name: str
    argv: tuple[str, ...]
    output: Path | None
    is_own: bool = False


def core_count() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_jobs(
    jobs: Sequence[Job],
    *,
    at_a_time: int,
    cwd: Path,
    environment: Mapping[str, str],
    finished: Callable[[Job, float], None],
    waiting: Callable[[], None] = lambda: None,
) -> None:
    """Run the jobs in their order, and return when all have ended well.

    Whatever ends this early (an error, Ctrl-C, SIGTERM, a closed terminal) ends the running commands, too.

    Args:
        jobs: What to run.
        at_a_time: How many at once.
        cwd: The folder to run them in.
        environment: Variables to add to this process's own.
        finished: Told of each job that has ended well, with the seconds it took.
        waiting: Called again and again while commands run.

    Raises:
        JobError: One failed; the message has the end of its output.
    """
    waiting_jobs = list(jobs)
    running: dict[Job, tuple[Process, float]] = {}
    with _signals_raise():
        try:
            while waiting_jobs or running:
                while waiting_jobs and len(running) < at_a_time:
                    job = waiting_jobs.pop(0)
                    running[job] = (_start(job, cwd, environment), time.monotonic())
                time.sleep(POLL_SECONDS)
                waiting()
                for job, (process, started) in list(running.items()):
                    if process.poll() is None:
                        continue
                    if process.returncode:
                        raise JobError(_what_happened(job, process.returncode))
                    del running[job]
                    finished(job, time.monotonic() - started)
        finally:
            _stop([process for process, _ in running.values()])


def _start(job: Job, cwd: Path, environment: Mapping[str, str]) -> Process:
    if job.is_own:
        assert job.output is not None
        job.output.parent.mkdir(parents=True, exist_ok=True)
        return WarmProcess(job.argv, job.output, cwd, environment)
    with contextlib.ExitStack() as stack:
        output: Any = None
        if job.output is not None:
            job.output.parent.mkdir(parents=True, exist_ok=True)
            output = stack.enter_context(job.output.open("ab"))
        # A session of its own: Ctrl-C reaches it through us alone, and its own children end with it.
        return subprocess.Popen(
            job.argv,
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output or subprocess.DEVNULL,
            stderr=output,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )


def _die_with_parent() -> None:
    """In the child, on Linux: ask for SIGTERM when the parent dies, of SIGKILL, too."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop(processes: Sequence[Process], patience: float = 5.0) -> None:
    for kind in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, kind)
        deadline = time.monotonic() + patience
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))


def _what_happened(job: Job, status: int) -> str:
    ended = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    if job.output is None:
        return f"{job.name} {ended}; what it printed stands above"
    lines = job.output.read_text(encoding="utf-8", errors="replace").splitlines()
    last = " | ".join([" ".join(line.split()) for line in lines if line.strip()][-3:]) or "nothing"
    return f"{job.name} {ended}; the end of {job.output}: {last}"


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP become SystemExit, so that the blocks that clean up run; only the main thread can ask so."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # as nohup asks for
                signal.signal(number, leave)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
