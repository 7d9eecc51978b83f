"""Processes that begin with torch, WILDS and our runner imported.

Importing them takes ten seconds on a small machine, as long as a good part of a short run. Python's fork server imports
them once; every further process is a fork of it. The server has run nothing yet, so its forks are like fresh processes.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver
from multiprocessing.connection import wait
from pathlib import Path
from typing import ParamSpec, TypeVar

from wilds_targeted.errors import RunError

P = ParamSpec("P")
T = TypeVar("T")

_PRELOADED = ["wilds_targeted.runner.run", "wilds_targeted.experiments.samples", "wilds.datasets.iwildcam_dataset"]


def end_with_caller() -> None:
    """In a warm process: end when the process that asked for it dies, of SIGKILL, too."""
    caller = multiprocessing.parent_process()
    assert caller is not None

    def watch() -> None:
        wait([caller.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def is_available() -> bool:
    """Whether this system has a fork server."""
    return "forkserver" in multiprocessing.get_all_start_methods()


def warm_up() -> None:
    """Let the server start to import, in the background."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    with _without_interrupts():
        forkserver.ensure_running()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """What is started here ignores Ctrl-C: the server ends with this process, and would only tell where it stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def call(function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
    """What the function returns, called in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    try:
        with ProcessPoolExecutor(1, context, initializer=end_with_caller) as pool:
            return pool.submit(function, *arguments, **keywords).result()
    except BrokenProcessPool:
        raise RunError(
            "a process of the demo died (for lack of memory?). In a script, call run_demo below "
            '`if __name__ == "__main__":`.'
        ) from None


class WarmProcess:
    """``wilds-targeted WORDS`` in a fork of the server; it looks like a `subprocess.Popen`.

    Args:
        words: What follows ``wilds-targeted``.
        output: The file that takes what it prints.
        cwd: Its working folder.
        environment: Variables to set.
    """

    def __init__(self, words: Sequence[str], output: Path, cwd: Path, environment: Mapping[str, str]) -> None:
        context = multiprocessing.get_context("forkserver")
        arguments = (list(words), output.absolute(), cwd, dict(environment))
        self._process = context.Process(target=_run, args=arguments)
        self._process.start()

    @property
    def pid(self) -> int:
        """Its number, and that of its process group."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self._process.exitcode

    def wait(self, timeout: float) -> None:
        """Wait for its end, at most so many seconds."""
        self._process.join(timeout)


def _run(words: list[str], output: Path, cwd: Path, environment: dict[str, str]) -> None:
    """In the child: the console command, its output in the file."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end_with_caller()
    os.chdir(cwd)
    os.environ.update(environment)
    with output.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    import torch

    # Torch has read the variable already, when the server imported it.
    torch.set_num_threads(int(environment.get("OMP_NUM_THREADS", torch.get_num_threads())))
    from wilds_targeted.cli import main

    sys.argv = ["wilds-targeted", *words]
    main()
