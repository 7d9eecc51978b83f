"""Runs commands, some at a time; none outlives this process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
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
Command = Callable[[Sequence[str]], list[str]]
"""From what follows ``wilds-targeted`` to the command that does it."""


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


def own_command(words: Sequence[str]) -> list[str]:
    """``wilds-targeted WORDS`` in this very environment; -P keeps the working folder out of the modules' way."""
    return [sys.executable, "-P", "-m", "wilds_targeted", *words]


def core_count() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """Runs jobs, each in one of its slots; leaving its block ends the commands that run, and drops those that wait.

    Args:
        slots: For each job that may run at a time the variables to add to this process's own.
        cwd: The folder to run them in.
    """

    def __init__(self, slots: Sequence[Mapping[str, str]], cwd: Path) -> None:
        self._cwd = cwd
        self._slots: queue.SimpleQueue[Mapping[str, str]] = queue.SimpleQueue()
        for slot in slots:
            self._slots.put(slot)
        # Each command has a thread, and stays its child: Linux tells it of the death of that thread.
        self._threads = ThreadPoolExecutor(len(slots))
        self._starting = threading.Lock()
        self._ending = threading.Event()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._threads.shutdown(cancel_futures=True)

    def submit(self, job: Job) -> Future[float]:
        """Run it when those before it are running or have ended; gives the seconds it took, or raises a `JobError`."""
        return self._threads.submit(self._run, job)

    def _run(self, job: Job) -> float:
        slot = self._slots.get()
        before = job.output.stat().st_size if job.output is not None and job.output.exists() else 0
        try:
            with self._starting:  # multiprocessing keeps its books without locks
                if self._ending.is_set():
                    raise CancelledError
                process = _start(job, self._cwd, slot)
            started = time.monotonic()
            while process.poll() is None:
                if self._ending.wait(POLL_SECONDS):
                    _stop(process)
                    raise CancelledError
            if process.returncode:
                raise JobError(_what_happened(job, process.returncode, before))
            return time.monotonic() - started
        finally:
            self._slots.put(slot)


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
    with signals_raise(), Pool([environment] * at_a_time, cwd) as pool:
        futures = {pool.submit(job): job for job in jobs}
        while futures:
            done, _ = wait(futures, POLL_SECONDS, FIRST_COMPLETED)
            leave_if_asked()
            waiting()
            for future in done:
                finished(futures.pop(future), future.result())


def share_of_cores(at_a_time: int) -> dict[str, str]:
    """The variables with which as many processes divide the cores among them."""
    threads = str(max(1, core_count() // at_a_time))
    return {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}


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


def _stop(process: Process, patience: float = 5.0) -> None:
    for kind in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, kind)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)


def _what_happened(job: Job, status: int, before: int) -> str:
    """The end of its output, of which so many bytes are an earlier run's."""
    ended = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    if job.output is None:
        return f"{job.name} {ended}; what it printed stands above"
    lines = job.output.read_bytes()[before:].decode(errors="replace").splitlines()
    last = " | ".join([" ".join(line.split()) for line in lines if line.strip()][-3:]) or "nothing"
    return f"{job.name} {ended}; the end of {job.output}: {last}"


_caught: list[int] = []
"""Signals that came."""


@contextlib.contextmanager
def signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP become SystemExit, so that the blocks that clean up run; only the main thread can ask so."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}

    def leave(number: int, _: FrameType | None) -> None:
        _caught.append(number)
        leave_if_asked()

    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # as nohup asks for
                signal.signal(number, leave)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if before:
            _caught.clear()


def leave_if_asked() -> None:
    """Raise what a signal asks for.

    An exception that a signal raises in the callback of a weak reference is told on standard error and lost; loops that
    wait long call this.
    """
    if _caught:
        raise KeyboardInterrupt if _caught[0] == signal.SIGINT else SystemExit(128 + _caught[0])
