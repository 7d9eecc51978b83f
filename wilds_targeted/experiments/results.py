"""Results of runs: the epoch that validation selects, means, standard errors, and a table of them."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wilds_targeted.errors import DataError

NO_VALUE = "—"


@dataclass(frozen=True)
class Score:
    """The scores of one run, in the epoch that was selected; between 0 and 1.

    Args:
        seed: The run's seed.
        epoch: The selected epoch.
        val: On validation domains, by which it was selected.
        in_domain: On held-out images of the training domains.
        out_of_domain: On the test domains (``test``).
    """

    seed: int
    epoch: int
    val: float
    in_domain: float
    out_of_domain: float


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error, which one value alone does not have."""

    mean: float
    error: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Mean and standard error: the standard deviation (ddof 1) over the square root of the number.

        >>> Estimate.of([0.25, 0.75])
        Estimate(mean=0.5, error=0.25)
        """
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
        return cls(statistics.fmean(values), error)

    def __str__(self) -> str:
        """In per cent.

        >>> str(Estimate(0.4321, 0.0123))
        '43.2 (1.2)'
        """
        return f"{per_cent(self.mean)} ({NO_VALUE if self.error is None else per_cent(self.error)})"


@dataclass(frozen=True)
class Row:
    """One row of the table: a method and the scores of its runs.

    Args:
        title: The method, for people.
        transform: The value of ``--transform``.
        kind: Generic, domain-invariant or targeted; a dash for none.
        scores: One for each seed.
    """

    title: str
    transform: str
    kind: str
    scores: tuple[Score, ...]

    @property
    def in_domain(self) -> Estimate:
        """Over the seeds."""
        return Estimate.of([score.in_domain for score in self.scores])

    @property
    def out_of_domain(self) -> Estimate:
        """Over the seeds."""
        return Estimate.of([score.out_of_domain for score in self.scores])


def per_cent(value: float) -> str:
    """A share in per cent, with one decimal."""
    return f"{100 * value:.1f}"


def read_scores(log_dir: str | Path, seed: int, metric: str, in_domain_split: str) -> Score:
    """The scores of a finished run, in the first epoch with the best validation score, as WILDS selects it.

    Args:
        log_dir: The run's log folder, with ``val_eval.csv``, ``test_eval.csv`` and that of the in-domain split.
        seed: The run's seed.
        metric: The column to select by and to report.
        in_domain_split: The split of held-out images of the training domains.
    """
    val, in_domain, out_of_domain = (
        _by_epoch(Path(log_dir) / f"{split}_eval.csv", metric) for split in ("val", in_domain_split, "test")
    )
    chosen = None
    for epoch in sorted(val):
        if not math.isnan(val[epoch]) and (chosen is None or val[epoch] > val[chosen]):
            chosen = epoch
    if chosen is None or chosen not in in_domain or chosen not in out_of_domain:
        raise DataError(
            f"{log_dir}: no epoch has a score of the splits val, {in_domain_split} and test; delete it and run again"
        )
    return Score(seed, chosen, val[chosen], in_domain[chosen], out_of_domain[chosen])


def _by_epoch(path: Path, metric: str) -> dict[int, float]:
    """The scores by epoch; of an epoch that a resumed run repeated, the last."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return {int(float(row["epoch"])): float(row[metric]) for row in csv.DictReader(file)}
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: columns 'epoch' and {metric!r} with numbers are expected ({error})") from error


def table(rows: Sequence[Row], metric_title: str) -> str:
    """The table as text: per cent, with standard errors in parentheses."""
    lines = [("method", "kind", f"ID {metric_title}", f"OOD {metric_title}")]
    lines += [(row.title, row.kind, str(row.in_domain), str(row.out_of_domain)) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
