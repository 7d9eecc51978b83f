"""Methods: runs that differ in nothing but their seeds; and sections: methods that can be compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wilds_targeted.choice import WILDS_TRANSFORMS
from wilds_targeted.experiments.recipes import Published, Recipe
from wilds_targeted.experiments.results import Estimate, Row, Score
from wilds_targeted.experiments.runs import RunFolder
from wilds_targeted.registry import get_registry

METRIC_TITLES = {"F1-macro_all": "macro F1", "recall-macro_all": "macro recall", "acc_avg": "accuracy"}
NO_KIND = "—"

_LONGEST_NAME = 60
"""Of a section's files; of longer ones the beginning and a hash stand for all, since file systems have limits."""


@dataclass(frozen=True)
class Member:
    """A run that counts, and the epoch that validation selected."""

    run: RunFolder
    epoch: int

    def value(self, split: str, metric: str) -> float:
        """A metric in the selected epoch."""
        return self.run.table(split)[self.epoch][metric]


@dataclass(frozen=True)
class Method:
    """Runs that differ in their seeds only.

    Args:
        title: For people.
        members: In the order of their seeds.
        settings: What was trained and how, by flag.
        recipe: The row of the paper that was repeated; None where that is not known.
        published: What the paper's tables say of it; empty where the runs are not comparable with it.
        unlike_paper: Why they are not.
    """

    title: str
    members: tuple[Member, ...]
    settings: Mapping[str, Any]
    recipe: Recipe | None = None
    published: tuple[Published, ...] = ()
    unlike_paper: str = ""

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return self.members[0].run.algorithm

    @property
    def transform(self) -> str:
        """The transform's name."""
        return self.members[0].run.transform

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of the runs that count."""
        return tuple(member.run.seed for member in self.members)

    @property
    def kind(self) -> str:
        """Generic, domain-invariant or targeted, as the registry says of the transform."""
        spec = get_registry().transforms.get(self.transform)
        return NO_KIND if spec is None else str(spec.kind.value)

    @property
    def is_unaugmented(self) -> bool:
        """Whether it is empirical risk minimization on examples as they are."""
        plain = (*WILDS_TRANSFORMS, "None")
        return self.algorithm == "ERM" and self.transform in plain and "additional_train_transform" not in self.settings

    def values(self, split: str, metric: str) -> dict[int, float]:
        """A metric by seed."""
        return {member.run.seed: member.value(split, metric) for member in self.members}

    def estimate(self, split: str, metric: str) -> Estimate:
        """Mean and standard error over the seeds."""
        return Estimate.of(list(self.values(split, metric).values()))

    def printed(self, split: str, metric: str) -> Published | None:
        """The paper's cell for that split and metric."""
        return next((each for each in self.published if (each.split, each.metric) == (split, metric)), None)


@dataclass(frozen=True)
class Section:
    """Methods that were evaluated on the same examples.

    Args:
        dataset: The data set's name.
        data: What else says which examples: version, split scheme, share, keywords.
        metric: WILDS's column that is reported.
        is_decreasing: Whether the smallest value is the best.
        splits: What is reported: in-domain, out-of-domain, and perhaps others.
        methods: The unaugmented one first, then in the paper's order.
        notes: What a reader must know.
    """

    dataset: str
    data: Mapping[str, str]
    metric: str
    is_decreasing: bool
    splits: tuple[str, ...]
    methods: tuple[Method, ...]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """The data set, and what is not WILDS's default about it."""
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.data.items())
        return f"{self.dataset} ({told})" if told else self.dataset

    @property
    def name(self) -> str:
        """What the names of its files begin with."""
        words = [self.dataset, *self.data.values()]
        name = "-".join("".join(letter if letter.isalnum() else "_" for letter in word) for word in words)
        if len(name) <= _LONGEST_NAME:
            return name
        return f"{name[:_LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"

    @property
    def metric_title(self) -> str:
        """The metric, for people."""
        return METRIC_TITLES.get(self.metric, self.metric)

    @property
    def in_domain(self) -> str:
        """The split of the training domains."""
        return self.splits[0]

    @property
    def out_of_domain(self) -> str:
        """The split of other domains."""
        return self.splits[1]

    def split_title(self, split: str) -> str:
        """A split as a column's heading."""
        role = {self.in_domain: "ID ", self.out_of_domain: "OOD "}.get(split, "")
        return f"{role}{split.removeprefix('id_') if role else split}"

    def row(self, method: Method) -> Row:
        """The method as a row of results."""
        scores = [
            Score(
                member.run.seed,
                member.epoch,
                member.value("val", member.run.val_metric),
                member.value(self.in_domain, self.metric),
                member.value(self.out_of_domain, self.metric),
            )
            for member in method.members
        ]
        return Row(method.title, method.transform, method.kind, tuple(scores))
