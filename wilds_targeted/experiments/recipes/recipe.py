"""What a recipe is: a row of the paper's tables as a protocol that can be run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wilds_targeted.experiments.space import SearchSpace, flag_values


@dataclass(frozen=True)
class Published:
    """A cell of one of the paper's tables.

    Args:
        table: The table's label in the paper, such as ``tab:iwildcam_results``.
        row: What the row is called there.
        split: WILDS's name of the split, such as ``id_test``.
        metric: WILDS's column, such as ``F1-macro_all``.
        mean: In per cent, as printed.
        error: The standard error, in per cent, as printed.
    """

    table: str
    row: str
    split: str
    metric: str
    mean: float
    error: float

    def __str__(self) -> str:
        """As printed.

        >>> str(Published("tab:clip", "Unaugmented", "id_val", "acc_avg", 99.5, 0))
        '99.5 (0.0)'
        """
        return f"{self.mean:.1f} ({self.error:.1f})"


@dataclass(frozen=True)
class Miniature:
    """The same protocol on generated data, with small budgets.

    Args:
        options: Of ``wilds-targeted miniature DATASET``, beside ``--root_dir`` and ``--seed``.
        flags: Which of the recipe's flags are replaced, and which are added.
        search: The search space; that of the recipe, but for ranges that make no sense for a small network.
        n_draws: How many draws of it are tried.
        tuning_seeds: The seeds with which each is trained.
        final_seeds: The seeds with which the chosen one is trained.
    """

    options: tuple[str, ...]
    flags: tuple[str, ...]
    search: SearchSpace
    n_draws: int
    tuning_seeds: tuple[int, ...]
    final_seeds: tuple[int, ...]


@dataclass(frozen=True)
class Recipe:
    """What is trained, what is tuned and how, and what the paper found.

    Args:
        name: Data set and method: ``iwildcam/copypaste_samey``.
        title: What the paper calls the method.
        dataset: One of the registered data sets.
        flags: What follows ``wilds-targeted run``, without root_dir, seed, log_dir and runner.
        search: What is tuned.
        tuned: The values that the authors published for their tuned runs, as a draw; empty where they did not.
        n_draws: How many draws are tried; 0 where nothing is searched.
        tuning_seeds: The seeds with which each draw is trained.
        final_seeds: The seeds with which the chosen one is trained.
        metric: What is reported, and what draws are chosen by on the split ``val``; WILDS's column. By what a run
            chooses its epoch is in its flags (``--val_metric``).
        in_domain: The split with examples of the training domains.
        out_of_domain: The split with examples of other domains.
        published: The cells of the paper's tables.
        images: How many images the splits of the real data set have, for estimates of cost; empty if not known.
        miniature: The same on generated data.
        note: Where the paper is silent, and what was chosen.
    """

    name: str
    title: str
    dataset: str
    flags: tuple[str, ...]
    search: SearchSpace
    tuned: Mapping[str, Any]
    n_draws: int
    tuning_seeds: tuple[int, ...]
    final_seeds: tuple[int, ...]
    metric: str
    in_domain: str
    out_of_domain: str
    published: tuple[Published, ...]
    images: Mapping[str, int]
    miniature: Miniature
    note: str = ""

    @property
    def n_runs(self) -> int:
        """How many runs it takes: a draw that comes twice is trained once, and the chosen one not anew."""
        distinct = {json.dumps(draw, sort_keys=True) for draw in self.search.draws(self.n_draws, seed=0)}
        return len(distinct) * len(self.tuning_seeds) + len(set(self.final_seeds) - set(self.tuning_seeds))

    def find_published(self, split: str) -> Published | None:
        """What the paper reports of that split in the metric of this recipe, in its first table; None if nothing."""
        return next((cell for cell in self.published if (cell.split, cell.metric) == (split, self.metric)), None)

    def on_miniature(self) -> Recipe:
        """The recipe for the generated data set, with which neither the authors' values nor their results go."""
        small = self.miniature
        return replace(
            self,
            flags=with_flags(self.flags, small.flags),
            search=small.search,
            tuned={},
            n_draws=small.n_draws,
            tuning_seeds=small.tuning_seeds,
            final_seeds=small.final_seeds,
            published=(),
            images={},
        )


def with_flags(words: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """A command line in which other flags replace those of the same name.

    >>> with_flags(["--lr", "1", "--eval_splits", "a", "b"], ["--eval_splits", "c", "--amp", "bf16"])
    ('--lr', '1', '--eval_splits', 'c', '--amp', 'bf16')
    """
    flags = {**flag_values(words), **flag_values(others)}
    return tuple(word for flag, values in flags.items() for word in (flag, *values))
