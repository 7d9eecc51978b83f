"""Which domains and classes gain, and which lose, between two methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wilds_targeted.experiments.report.answers import Answers, mean_of
from wilds_targeted.experiments.report.methods import Method

_NOTHING = 1e-9


@dataclass(frozen=True)
class Line:
    """One domain or class.

    Args:
        name: Its name.
        examples: How many it has in the test split.
        baseline: The baseline's score, mean over its seeds.
        method: The method's.
    """

    name: str
    examples: int
    baseline: float
    method: float

    @property
    def gain(self) -> float:
        """How much better the method is."""
        return self.method - self.baseline


@dataclass(frozen=True)
class Breakdown:
    """Lines, the greatest gain first."""

    unit: str
    score: str
    lines: tuple[Line, ...]

    @property
    def summary(self) -> str:
        """How many gain and lose, in a sentence."""
        gains = sum(line.gain > _NOTHING for line in self.lines)
        losses = sum(line.gain < -_NOTHING for line in self.lines)
        text = f"Of {len(self.lines)} {self.unit} {gains} gain, {losses} lose"
        same = len(self.lines) - gains - losses
        text += f", {same} stay the same." if same else "."
        if gains:
            text += f" The greatest gain: {_told(self.lines[0])}."
        if losses:
            text += f" The greatest loss: {_told(self.lines[-1])}."
        return text


def by_domain(answers: Answers, baseline: Method, method: Method) -> Breakdown:
    """Accuracy on each domain of the split."""
    view = answers.view
    before, after = (mean_of([answers.by_domain(member) for member in each.members]) for each in (baseline, method))
    sizes = np.bincount(view.domains)
    names = view.domain_names
    return Breakdown(f"{view.field}s", "accuracy", _sorted(names, sizes.tolist(), before.tolist(), after.tolist()))


def by_class(answers: Answers, baseline: Method, method: Method) -> Breakdown:
    """F1 of each class that the split has."""
    view = answers.view
    before, after = (mean_of([answers.by_class(member) for member in each.members]) for each in (baseline, method))
    sizes = np.bincount(view.labels, minlength=len(view.class_names))
    there = np.flatnonzero(sizes)
    names = [view.class_names[label] for label in there]
    return Breakdown(
        "classes", "F1", _sorted(names, sizes[there].tolist(), before[there].tolist(), after[there].tolist())
    )


def _sorted(
    names: Sequence[str], sizes: Sequence[int], before: Sequence[float], after: Sequence[float]
) -> tuple[Line, ...]:
    lines = [Line(*each) for each in zip(names, sizes, before, after, strict=True)]
    return tuple(sorted(lines, key=lambda line: (-line.gain, line.name)))


def _told(line: Line) -> str:
    return (
        f"{line.name}, {100 * line.baseline:.1f} → {100 * line.method:.1f} "
        f"({line.examples:,} {'example' if line.examples == 1 else 'examples'})"
    )
