"""Linear fits of out-of-domain against in-domain scores, and how far above one a method lies.

Miller et al. (2021, "Accuracy on the Line") fit such lines after scaling both axes; the paper calls the vertical
distance from theirs effective robustness.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from wilds_targeted.errors import ConfigError, DataError

SCALES: Mapping[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "linear": (lambda share: share, lambda value: value),
    "probit": (lambda share: float(ndtri(share)), lambda value: float(ndtr(value))),
    "logit": (lambda share: float(logit(share)), lambda value: float(expit(value))),
}
"""By name how a share is scaled, and how that is undone."""

TESTBED = "https://github.com/millerjohnp/linearfits_app"
"""Where Miller et al. publish the points of their fits (`results.csv`)."""

_TESTBED_DATA = {"iwildcam": "IWildCamOfficialV2", "camelyon17": "Camelyon17", "fmow": "FMoW"}
_TESTBED_METRICS = {"F1-macro_all": "macro_f1", "acc_avg": "accuracy"}
_FEWEST = 2


@dataclass(frozen=True)
class Fit:
    """A line on scaled axes.

    Args:
        slope: Of the scaled out-of-domain score against the scaled in-domain one.
        intercept: Likewise; scores are shares from 0 to 1 before they are scaled.
        scale: ``linear``, ``probit`` or ``logit``.
        source: Where it is from.
        r_squared: Of the fit; None where it was given.
    """

    slope: float
    intercept: float
    scale: str
    source: str
    r_squared: float | None = None

    def __call__(self, in_domain: float) -> float:
        """The out-of-domain score that the line predicts.

        >>> Fit(0.5, 0.1, "linear", "given")(0.4)
        0.30000000000000004
        """
        scaled, unscaled = SCALES[self.scale]
        return unscaled(self.slope * scaled(in_domain) + self.intercept)

    def robustness(self, in_domain: float, out_of_domain: float) -> float:
        """Effective robustness: how far above the line the score lies."""
        return out_of_domain - self(in_domain)


def fit_line(points: Sequence[tuple[float, float]], scale: str, source: str) -> Fit:
    """Least squares through points of in-domain and out-of-domain scores, on scaled axes.

    Points at 0 or 1 have no place on the probit and logit scales and are left out there.

    >>> fit_line([(0.2, 0.1), (0.4, 0.2), (0.6, 0.3)], "linear", "by hand").slope
    0.5
    """
    scaled, _ = SCALES[scale]
    pairs = np.array([(scaled(x), scaled(y)) for x, y in points], dtype=float).reshape(-1, 2)
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    x, y = pairs.T
    if len(pairs) < _FEWEST or np.ptp(x) == 0:
        raise DataError(f"{source}: a fit needs points with different in-domain scores, got {len(pairs)} without")
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    intercept = float(y.mean() - slope * x.mean())
    spread = float(((y - y.mean()) ** 2).sum())
    residual = float(((y - slope * x - intercept) ** 2).sum())
    r_squared = 1 - residual / spread if spread else None
    return Fit(round(slope, 12), round(intercept, 12), scale, f"{source}, {len(pairs)} points", r_squared)


def given_fit(slope: float, intercept: float, scale: str) -> Fit:
    """A fit that a person knows the numbers of."""
    if not (math.isfinite(slope) and math.isfinite(intercept)):
        raise ConfigError(f"--fit {slope} {intercept}: two finite numbers are expected")
    return Fit(slope, intercept, scale, "given with --fit")


def read_points(
    path: str | Path, dataset: str, in_domain: str, out_of_domain: str, metric: str
) -> list[tuple[float, float]]:
    """Points from a CSV file: columns ``id`` and ``ood`` with shares, or the file of Miller et al.'s testbed.

    Raises:
        DataError: It is neither, or has no points of this data set and these splits.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            columns = set(reader.fieldnames or ())
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"--fit-points {path} can't be read: {error}") from error
    x, y = "id", "ood"
    if "shift_set" in columns:
        if dataset not in _TESTBED_DATA or metric not in _TESTBED_METRICS:
            raise DataError(f"{path}, Miller et al.'s file, has no {metric} of {dataset}")
        name, column = _TESTBED_DATA[dataset], _TESTBED_METRICS[metric]
        wanted = {"test_set": f"{name}-{in_domain}", "shift_set": f"{name}-ood_{out_of_domain}"}
        rows = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
        x, y = f"test_{column}", f"shift_{column}"
    if not columns.issuperset((x, y)):
        raise DataError(f"{path}: columns {x} and {y} are expected, got {', '.join(sorted(columns)) or 'none'}")
    try:
        points = [(float(row[x]), float(row[y])) for row in rows if row[x] and row[y]]
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: numbers are expected in the columns {x} and {y} ({error})") from error
    if any(not 0 <= value <= 1 for point in points for value in point):
        raise DataError(f"{path}: shares from 0 to 1 are expected in the columns {x} and {y}, not per cent")
    return points
