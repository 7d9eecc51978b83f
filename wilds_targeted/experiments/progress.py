"""How far many runs are: one bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from tqdm import tqdm

from wilds_targeted.runner.progress import duration


def tell(line: str) -> None:
    """Say it on standard error."""
    print(line, file=sys.stderr, flush=True)


def epochs_evaluated(log_dir: Path, epochs: int) -> int:
    """How many of its epochs a run has evaluated so far: the lines below the table's header."""
    path = log_dir / "val_eval.csv"
    return min(epochs, max(0, path.read_bytes().count(b"\n") - 1)) if path.exists() else 0


class Progress:
    """Progress on standard error.

    Args:
        runs: How many runs there are to do.
        epochs: How many epochs each has.
    """

    def __init__(self, runs: int, epochs: int) -> None:
        self._runs = runs
        self._epochs = epochs
        self._finished = 0
        self._failed = 0
        self.running = 0
        self._started = time.monotonic()
        self._bar: tqdm[Any] | None = None
        if sys.stderr.isatty():
            form = "{desc} {percentage:3.0f}%|{bar}| {elapsed} so far, {remaining} left"
            self._bar = tqdm(
                desc=self._description, total=runs * epochs, bar_format=form, dynamic_ncols=True, miniters=1
            )

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def epochs_done(self, number: int) -> None:
        """So many epochs of all runs are done."""
        if self._bar is not None:
            self._bar.set_description_str(self._description, refresh=False)
            self._bar.update(max(0, number - self._bar.n))
            self._bar.refresh()  # the clock moves between epochs, too

    def run_finished(self, name: str, seconds: float) -> None:
        """That run has ended well."""
        self._finished += 1
        self._tell(f"{name}: {duration(seconds)}")

    def run_failed(self, name: str) -> None:
        """That run has failed for good."""
        self._failed += 1
        self._tell(f"{name}: failed")

    def _tell(self, what: str) -> None:
        if self._bar is not None:
            self._bar.set_description_str(self._description)
            return
        ended = self._finished + self._failed
        passed = time.monotonic() - self._started
        left = passed * (self._runs - ended) / ended
        running = f"{self.running} running, " if self.running else ""
        failed = f"{self._failed} failed, " if self._failed else ""
        times = f"{duration(passed)} so far, about {duration(left)} left"
        tell(f"[{ended}/{self._runs}] {what}; {running}{failed}{times}")

    @property
    def _description(self) -> str:
        failed = f", {self._failed} failed" if self._failed else ""
        running = f", {self.running} running" if self.running else ""
        return f"training, {self._finished} of {self._runs} runs done{running}{failed}"
