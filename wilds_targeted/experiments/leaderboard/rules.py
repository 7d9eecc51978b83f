"""What WILDS's leaderboard asks for each data set: which seeds, and which metrics its script reports."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from wilds_targeted.errors import ConfigError, closest

GUIDELINES = "https://wilds.stanford.edu/submit/"
_MOST_SEEDS = 1000


@dataclass(frozen=True)
class Rule:
    """What a bundle of one data set must hold.

    Args:
        dataset: The data set's name.
        seeds: The replicates: all of them, and no others.
        metrics: What is reported, the leaderboard's first one first.
        source: Who asks for these seeds.
        is_on_leaderboard: Whether WILDS's ``evaluate.py`` knows the data set.
        is_chosen: Whether the seeds were chosen by the user.
    """

    dataset: str
    seeds: tuple[int, ...]
    metrics: tuple[str, ...]
    source: str = "WILDS's leaderboard"
    is_on_leaderboard: bool = True
    is_chosen: bool = False

    @property
    def is_for_leaderboard(self) -> bool:
        """Whether WILDS's ``evaluate.py`` takes such a bundle."""
        return self.is_on_leaderboard and not self.is_chosen

    @property
    def seeds_in_words(self) -> str:
        """The seeds, for a sentence."""
        return in_words(self.seeds)


_F1_AND_ACCURACY = ("F1-macro_all", "acc_avg")
_RULES = (
    # As WILDS's evaluate.py has them: those with one label an example.
    Rule("amazon", (0, 1, 2), ("10th_percentile_acc", "acc_avg")),
    Rule("camelyon17", tuple(range(10)), ("acc_avg",)),
    Rule("civilcomments", tuple(range(5)), ("acc_wg", "acc_avg")),
    Rule("fmow", (0, 1, 2), ("acc_worst_region", "acc_avg")),
    Rule("iwildcam", (0, 1, 2), _F1_AND_ACCURACY),
    Rule("rxrx1", (0, 1, 2), ("acc_avg",)),
    # The leaderboard lacks it; the paper's results are means over 20 seeds.
    Rule("birdcalls", tuple(range(20)), _F1_AND_ACCURACY, "the paper", is_on_leaderboard=False),
)
RULES = {rule.dataset: rule for rule in _RULES}

_OTHER_FORMS = {
    "globalwheat": "predictions are boxes",
    "ogb-molpcba": "an example has many labels",
    "poverty": "replicates are folds",
    "py150": "an example has many labels",
}
"""What is on the leaderboard, too, but is not one whole number an example with a seed for each replicate."""


def rule_for(dataset: str) -> Rule:
    """What a bundle of that data set must hold.

    Raises:
        ConfigError: There are no bundles of it.
    """
    if dataset in _OTHER_FORMS:
        raise ConfigError(
            f"`submit` packs data sets with one label an example, and of {dataset} {_OTHER_FORMS[dataset]}: pack its "
            f"files by hand, as {GUIDELINES} tells, and score them with WILDS's evaluate.py."
        )
    if dataset not in RULES:
        raise ConfigError(
            f"the leaderboard has no data set {dataset!r}{closest(dataset, RULES)}; bundles are made of "
            f"{', '.join(RULES)}."
        )
    return RULES[dataset]


def with_seeds(rule: Rule, seeds: Sequence[int], *, is_miniature: bool) -> Rule:
    """The rule with other replicates, where no leaderboard asks for them.

    Raises:
        ConfigError: One does, or they are too few.
    """
    if rule.is_on_leaderboard and not is_miniature:
        raise ConfigError(
            f"--seeds: WILDS's leaderboard asks for seeds {rule.seeds_in_words} of {rule.dataset}, no others; leave "
            f"--seeds out."
        )
    if len(set(seeds)) < 2:
        raise ConfigError("--seeds: a standard deviation needs two different seeds at least.")
    return replace(rule, seeds=tuple(sorted(set(seeds))), source="--seeds", is_chosen=True)


def in_words(numbers: Collection[int]) -> str:
    """Whole numbers, with those that follow one another as a range.

    >>> in_words([0, 1, 2, 5, 8, 7])
    '0-2, 5, 7-8'
    """
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)


def parse_seeds(text: str) -> tuple[int, ...]:
    """What `in_words` writes, as numbers.

    >>> parse_seeds("0-2,5")
    (0, 1, 2, 5)
    """
    seeds: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*([0-9]{1,9})(?:-([0-9]{1,9}))?\s*", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
        if not 0 <= last - first < _MOST_SEEDS:
            raise ConfigError(
                f"--seeds {text}: whole numbers and ranges of at most {_MOST_SEEDS} are expected, such as 0-4 or 0,1,5."
            )
        seeds += range(first, last + 1)
    return tuple(seeds)
