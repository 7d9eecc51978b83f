"""How far many runs are: one bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from tqdm import tqdm

from wilds_targeted.runner.progress import duration


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
            self._bar.update(max(0, number - self._bar.n))
            self._bar.refresh()  # the clock moves between epochs, too

    def run_finished(self, name: str, seconds: float) -> None:
        """That run has ended."""
        self._finished += 1
        if self._bar is not None:
            self._bar.set_description_str(self._description)
            return
        passed = time.monotonic() - self._started
        left = passed * (self._runs - self._finished) / self._finished
        print(
            f"[{self._finished}/{self._runs}] {name}: {duration(seconds)}; "
            f"{duration(passed)} so far, about {duration(left)} left",
            file=sys.stderr,
            flush=True,
        )

    @property
    def _description(self) -> str:
        return f"training, {self._finished} of {self._runs} runs done"
