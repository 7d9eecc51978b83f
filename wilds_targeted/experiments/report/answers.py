"""What each run answered on a test split: correct answers by domain and class, and scores on resampled splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wilds_targeted.errors import DataError
from wilds_targeted.experiments.data_figures.view import View, open_view
from wilds_targeted.experiments.leaderboard.predictions import read_predictions
from wilds_targeted.experiments.report.comparison import SEED, Doubles
from wilds_targeted.experiments.report.methods import Member, Section

DOMAIN_RESAMPLES = 10_000
EXAMPLE_RESAMPLES = 1_000
"""Fewer: they are many to draw, and spread so little that more would not change what is shown."""

FEWEST_DOMAINS = 5
"""With fewer domains in the split, examples are resampled: so few domains say nothing of others."""

_CHUNK = 50
_TOLERANCE = 1e-5
_CHECKED = "acc_avg"


@dataclass(frozen=True)
class Answers:
    """The answers of all runs of a section on one split.

    Args:
        view: The split by domain and class.
        predicted: For each log folder the predicted classes.
    """

    view: View
    predicted: dict[Path, NDArray[np.int64]]

    def by_domain(self, member: Member) -> Doubles:
        """The run's accuracy on each domain."""
        right = self.predicted[member.run.path] == self.view.labels
        shares: Doubles = np.bincount(self.view.domains, right) / np.bincount(self.view.domains)
        return shares

    def by_class(self, member: Member) -> Doubles:
        """The run's F1 on each class; of one that is neither there nor named 0."""
        size = len(self.view.class_names)
        predicted = self.predicted[member.run.path]
        right = np.bincount(self.view.labels, predicted == self.view.labels, minlength=size)
        present = np.bincount(self.view.labels, minlength=size)
        named = np.bincount(predicted, minlength=size)
        shares: Doubles = 2 * right / np.maximum(present + named, 1)
        return shares

    @property
    def units(self) -> str:
        """What the test split consists of, for its resampling."""
        if self._are_examples_drawn:
            return f"{len(self.view.labels):,} examples"
        return f"{self._domain_count} test {self.view.field}s"

    @property
    def _domain_count(self) -> int:
        return len(self.view.domain_names)

    @property
    def _are_examples_drawn(self) -> bool:
        return self._domain_count < FEWEST_DOMAINS

    def resampled(self, members: Sequence[Member], metric: str) -> dict[Path, Doubles]:
        """For each run its score on every resampled split; the same resamples for all runs."""
        labels = self.view.labels
        present, counts = self._by_unit(labels), {}
        for member in members:
            predicted = self.predicted[member.run.path]
            right = self._by_unit(labels, (predicted == labels).astype(np.float64))
            counts[member.run.path] = right, self._by_unit(predicted)
        units = present.shape[0]
        generator, shares = np.random.default_rng(SEED), np.full(units, 1 / units)
        scores: dict[Path, list[Doubles]] = {path: [] for path in counts}
        resamples = EXAMPLE_RESAMPLES if self._are_examples_drawn else DOMAIN_RESAMPLES
        for _ in range(resamples // _CHUNK):
            weights = generator.multinomial(units, shares, size=_CHUNK).astype(np.float64)
            there = weights @ present
            for path, (right, named) in counts.items():
                scores[path].append(score(metric, weights @ right, there, weights @ named))
        return {path: np.concatenate(each) for path, each in scores.items()}

    def _by_unit(self, classes: NDArray[np.int64], values: Doubles | None = None) -> Any:
        """Sums of values by unit and class."""
        size = len(classes)
        values = np.ones(size) if values is None else values
        units = np.arange(size) if self._are_examples_drawn else self.view.domains
        count = size if self._are_examples_drawn else self._domain_count
        return sparse.csr_array((values, (units, classes)), shape=(count, len(self.view.class_names)))


def can_score(metric: str) -> bool:
    """Whether a metric can be computed again from resampled answers."""
    return metric in ("acc_avg", "F1-macro_all", "recall-macro_all")


def score(metric: str, right: Doubles, present: Doubles, named: Doubles) -> Doubles:
    """A metric from counts by class, as WILDS defines it: averages are over the classes that are there.

    Args:
        metric: WILDS's column.
        right: For each class how many of its examples were recognized; resamples in rows.
        present: How many examples it has.
        named: How often it was the answer.
    """
    if metric == "acc_avg":
        accuracy: Doubles = right.sum(axis=1) / present.sum(axis=1)
        return accuracy
    whole = present if metric == "recall-macro_all" else (present + named) / 2
    is_there = present > 0
    shares: Doubles = np.divide(right, whole, out=np.zeros_like(right), where=is_there)
    means: Doubles = shares.sum(axis=1) / is_there.sum(axis=1)
    return means


def read_answers(section: Section, dataset: Any, split: str) -> Answers:
    """The answers of all runs that count.

    Raises:
        DataError: A file of predictions is missing or broken, or was made from other data.
    """
    view = open_view(dataset, split)
    predicted = {member.run.path: _read(member, split, view) for method in section.methods for member in method.members}
    return Answers(view, predicted)


def _read(member: Member, split: str, view: View) -> NDArray[np.int64]:
    found = next((path for path in _places(member, split) if path.is_file()), member.run.predictions(split))
    labels = read_predictions(found, len(view.labels), len(view.class_names)).labels
    logged, accuracy = member.run.table(split)[member.epoch].get(_CHECKED), float((labels == view.labels).mean())
    if logged is not None and abs(logged - accuracy) > _TOLERANCE:
        raise DataError(
            f"{found} scores an accuracy of {accuracy:.4f} with the data set under --root_dir, and the run's log says "
            f"{logged:.4f}: it was made from other data, or in another epoch"
        )
    return labels


def _places(member: Member, split: str) -> Iterator[Path]:
    yield member.run.predictions(split)
    yield member.run.predictions(split, member.epoch)


def open_dataset(section: Section, root_dir: str | Path) -> Any:
    """The data set that a section's runs were evaluated on."""
    from wilds_targeted.api import get_dataset

    keywords = set(section.data).difference(("version", "split_scheme"))
    if keywords:
        raise DataError(f"runs with {' and '.join(sorted(keywords))} do not tell which examples they saw")
    return get_dataset(
        section.dataset,
        root_dir=str(root_dir),
        version=section.data.get("version"),
        split_scheme=section.data.get("split_scheme", "official"),
        download=False,
    )


def mean_of(rows: Sequence[Doubles]) -> Doubles:
    """The mean over runs."""
    mean: Doubles = np.stack(rows).mean(axis=0)
    return mean
