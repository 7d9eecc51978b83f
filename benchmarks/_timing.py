"""How these programs measure."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def interleaved(work: dict[str, Callable[[int], object]], items: Sequence[int], rounds: int) -> dict[str, list[float]]:
    """Milliseconds an item of each kind of work, a value a round; the kinds take turns item by item.

    Taking turns lets whatever else the machine does fall on all kinds alike, so ratios are steadier than times.
    """
    spent: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        total = dict.fromkeys(work, 0.0)
        for item in items:
            for name, call in work.items():
                start = time.perf_counter()
                call(item)
                total[name] += time.perf_counter() - start
        for name in work:
            spent[name].append(1000 * total[name] / len(items))
    return spent


def ratio(spent: dict[str, list[float]], one: str, other: str) -> str:
    """The median over the rounds of the ratio of two kinds of work, with its range."""
    ratios = [a / b for a, b in zip(spent[one], spent[other], strict=True)]
    return f"{statistics.median(ratios):.2f} (rounds from {min(ratios):.2f} to {max(ratios):.2f})"


def resident_megabytes() -> float:
    """How much memory this process holds now (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
