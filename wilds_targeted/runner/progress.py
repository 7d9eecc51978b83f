"""Progress on standard error: bars with rate and time left on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")

SECONDS_BETWEEN_LINES = 30.0


def show_progress(
    items: Iterable[T], total: int, title: str, unit: str, wanted: bool | None, done: int = 0
) -> Iterator[T]:
    """The items, with progress shown.

    Args:
        items: What is worked through.
        total: How many there are, those done before included.
        title: What it is.
        unit: What one of them is called.
        wanted: True for a bar, False for nothing, None for a bar on a terminal and lines elsewhere.
        done: How many were done before.
    """
    if wanted is False:
        yield from items
    elif wanted or sys.stderr.isatty():
        yield from tqdm(items, title, total, initial=done, unit=unit, leave=False, dynamic_ncols=True)
    else:
        yield from _with_lines(items, total, title, unit, done)


def _with_lines(items: Iterable[T], total: int, title: str, unit: str, done: int) -> Iterator[T]:
    started = told = time.monotonic()
    for number, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - told >= SECONDS_BETWEEN_LINES:
            told = now
            rate = number / (now - started)
            left = (total - done - number) / rate
            share = (done + number) / total
            line = f"{title}: {done + number} of {total} ({share:.0%}), {rate:.1f} {unit}/s, {duration(left)} left"
            print(line, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """A time span for people.

    >>> [duration(seconds) for seconds in (42, 150, 8000)]
    ['42 s', '2 min 30 s', '2 h 13 min']
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
