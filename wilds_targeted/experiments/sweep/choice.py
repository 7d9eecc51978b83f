"""Which draw is the best: by the mean of its runs' validation scores, and by nothing else."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wilds_targeted.experiments.results import Estimate
from wilds_targeted.experiments.sweep.unit import Result


@dataclass(frozen=True)
class DrawScores:
    """What became of a draw.

    Args:
        number: Which one, from 0.
        values: What was drawn.
        results: Of the runs that ended well, by seed.
        failed: The seeds of those that did not.
    """

    number: int
    values: Mapping[str, Any]
    results: Mapping[int, Result]
    failed: tuple[int, ...]

    @property
    def is_complete(self) -> bool:
        """Whether no run of it is missing."""
        return not self.failed

    @property
    def val(self) -> float:
        """The mean over its runs of the score on validation."""
        return statistics.fmean(result.val for result in self.results.values())

    def estimate(self, split: str) -> str:
        """Mean and standard error of ``val``, ``in_domain`` or ``out_of_domain``; says so where runs are missing."""
        if not self.results:
            return "failed"
        told = str(Estimate.of([getattr(result, split) for result in self.results.values()]))
        planned = len(self.results) + len(self.failed)
        return told if self.is_complete else f"{told} of {len(self.results)}/{planned}"


def choose(draws: Sequence[DrawScores], accept_incomplete: bool = False) -> DrawScores | None:
    """The draw with the best mean on validation, of equal ones the first; None where none can be chosen.

    Args:
        draws: All.
        accept_incomplete: Whether a mean over fewer seeds than planned counts, too.
    """
    candidates = [draw for draw in draws if draw.results and (draw.is_complete or accept_incomplete)]
    return max(candidates, key=lambda draw: (draw.val, -draw.number), default=None)
