"""The difference of two methods: mean, standard error, and a bootstrap interval over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

RESAMPLES = 10_000
SEED = 0
"""Of the bootstrap's generator: the same runs get the same interval."""

LEVEL = 0.95
_FEWEST = 2


@dataclass(frozen=True)
class Interval:
    """A percentile interval of bootstrap resamples."""

    low: float
    high: float

    @classmethod
    def of(cls, resampled: Doubles) -> Interval:
        """The middle part of the resampled values.

        >>> Interval.of(np.linspace(0, 1, 1001))
        Interval(low=0.025, high=0.975)
        """
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(resampled, [tail, 1 - tail], method="inverted_cdf")
        return cls(round(float(low), 12), round(float(high), 12))


@dataclass(frozen=True)
class Difference:
    """How much one method's score exceeds another's.

    Args:
        mean: The difference of the means; with pairs, of the paired runs.
        error: Its standard error; None with fewer than two runs on a side.
        seeds: The seeds that both have; empty where the runs are not paired.
        counts: How many runs of each method went into it.
        interval: Over seeds; None with fewer than two.
        wider: Over seeds and over what the test split consists of; None where that is not known.
    """

    mean: float
    error: float | None
    seeds: tuple[int, ...]
    counts: tuple[int, int]
    interval: Interval | None
    wider: Interval | None = None

    @property
    def is_paired(self) -> bool:
        """Whether runs of the same seed were compared."""
        return bool(self.seeds)


def difference(one: Mapping[int, float], other: Mapping[int, float]) -> Difference:
    """Compare two methods' scores by seed: `one` minus `other`.

    Where two seeds at least are the same, only those are compared, as pairs: the standard error is that of the mean of
    the pairs' differences, and the bootstrap draws pairs. Else both sides are drawn on their own.

    >>> found = difference({0: 0.5, 1: 0.7}, {0: 0.4, 1: 0.5, 2: 0.9})
    >>> round(found.mean, 10), round(found.error, 10), found.seeds, found.interval
    (0.15, 0.05, (0, 1), Interval(low=0.1, high=0.2))
    """
    shared = tuple(sorted(set(one) & set(other)))
    if len(shared) >= _FEWEST:
        pairs = np.array([one[seed] - other[seed] for seed in shared])
        error = float(pairs.std(ddof=1)) / math.sqrt(len(pairs))
        count = len(shared)
        return Difference(float(pairs.mean()), error, shared, (count, count), Interval.of(_means_of_pairs(pairs)))
    left, right = np.array(list(one.values())), np.array(list(other.values()))
    counts = (len(left), len(right))
    mean = statistics.fmean(left) - statistics.fmean(right)
    if min(counts) < _FEWEST:
        return Difference(mean, None, (), counts, None)
    error = math.sqrt(sum(float(side.var(ddof=1)) / len(side) for side in (left, right)))
    resampled = _resampled_means(left) - _resampled_means(right, SEED + 1)
    return Difference(mean, error, (), counts, Interval.of(resampled))


def _means_of_pairs(values: Doubles) -> Doubles:
    """Means of all resamples that there are, each as likely as the others; of so many drawn ones where there are more.

    >>> _means_of_pairs(np.array([0.0, 1.0])).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    size = len(values)
    if size**size > RESAMPLES:
        return _resampled_means(values)
    means: Doubles = values[np.indices((size,) * size).reshape(size, -1)].mean(axis=0)
    return means


def _resampled_means(values: Doubles, seed: int = SEED) -> Doubles:
    """Means of as many values, drawn with replacement."""
    generator = np.random.default_rng(seed)
    means: Doubles = values[draw_members(generator, RESAMPLES, len(values))].mean(axis=1)
    return means


def draw_members(generator: np.random.Generator, resamples: int, size: int) -> NDArray[np.int64]:
    """For each resample as many of the members as there are, with replacement."""
    return generator.integers(size, size=(resamples, size))


def wider_interval(one: Sequence[Doubles], other: Sequence[Doubles], *, is_paired: bool) -> Interval:
    """An interval over seeds and over what the test split consists of.

    Args:
        one: For each run of a method its score on every resampled test split.
        other: The same of the other method, on the same resampled splits; with pairs in the same order of seeds.
        is_paired: Whether the runs are pairs.
    """
    generator = np.random.default_rng(SEED)
    left, right = np.stack(one), np.stack(other)
    resamples = np.arange(left.shape[1])[:, None]
    chosen = draw_members(generator, len(resamples), len(left))
    against = chosen if is_paired else draw_members(generator, len(resamples), len(right))
    return Interval.of(left[chosen, resamples].mean(axis=1) - right[against, resamples].mean(axis=1))
