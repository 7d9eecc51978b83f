"""From log folders to a bundle: check, score, describe, write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wilds_targeted.api import get_dataset
from wilds_targeted.experiments.leaderboard.bundle import pack, write_bundle
from wilds_targeted.experiments.leaderboard.checks import (
    Replicate,
    SubmissionError,
    check_all,
    choose_runs,
    demand_one_dataset,
)
from wilds_targeted.experiments.leaderboard.description import Author, Facts, count_open, describe
from wilds_targeted.experiments.leaderboard.rules import Rule, in_words, rule_for, with_seeds
from wilds_targeted.experiments.leaderboard.scoring import (
    Evaluator,
    Results,
    aggregate,
    demand_the_same,
    optional_checkout,
)
from wilds_targeted.experiments.runs import find_runs
from wilds_targeted.miniatures import is_miniature


@dataclass(frozen=True)
class Bundle:
    """What was written.

    Args:
        path: The bundle's folder.
        rule: The rules it keeps.
        replicates: Its runs.
        results: Means and standard deviations, as WILDS's ``evaluate.py`` writes them.
        left_out: Seeds that were given and are not in it.
        checkout: Whose ``evaluate.py`` gave the same numbers; None where none was there, or none knows the data set.
        is_miniature: Whether the data are generated.
        is_new: Whether it was written; the very same may have been there.
        to_fill_in: How many places of ``SUBMISSION.md`` are to be filled in.
    """

    path: Path
    rule: Rule
    replicates: tuple[Replicate, ...]
    results: Results
    left_out: tuple[int, ...]
    checkout: Path | None
    is_miniature: bool
    is_new: bool
    to_fill_in: int


def submit(
    paths: Iterable[str | Path],
    out: str | Path,
    root_dir: str | Path,
    *,
    author: Author | None = None,
    seeds: Sequence[int] | None = None,
    wilds: str | Path | None = None,
    force: bool = False,
) -> Bundle:
    """Check finished runs of one method on one data set against WILDS's rules, and pack them for its leaderboard.

    Args:
        paths: Log folders, or folders that hold them.
        out: The bundle's folder.
        root_dir: The folder that holds the data set's folder.
        author: What only the people who submit know.
        seeds: Other replicates, for a data set that the leaderboard does not have, or a miniature.
        wilds: A WILDS checkout; by default the one that is found, if any.
        force: Replace another bundle.

    Raises:
        SubmissionError: The runs break rules; it tells all of it, and nothing was written.
        WildsTargetedError: There are no runs or no data, or something else stands where the bundle is to be.
    """
    out, root_dir = Path(out).absolute(), Path(root_dir)
    checkout = optional_checkout(wilds)
    runs = find_runs(paths)
    rule = rule_for(demand_one_dataset(runs))
    evaluator = Evaluator(get_dataset(rule.dataset, root_dir=root_dir))
    generated = is_miniature(evaluator.dataset.data_dir)
    if seeds is not None:
        rule = with_seeds(rule, seeds, is_miniature=generated)
    if not rule.is_for_leaderboard:
        checkout = None  # its script does not take such a bundle
    chosen, violations = choose_runs(runs, rule)
    replicates, found = check_all(chosen, evaluator)
    if violations or found:
        raise SubmissionError([*violations, *found])
    results = aggregate(rule, [replicate.scores for replicate in replicates], evaluator.splits)
    left_out = tuple(sorted({run.seed for run in runs} - set(rule.seeds)))
    files = {each.path.name: each.content for one in replicates for each in one.predictions.values()}
    facts = Facts(
        rule,
        replicates,
        results,
        in_words(left_out),
        pack(rule.dataset, files),
        generated,
        "WILDS's own `evaluate.py` gives the same numbers." if checkout is not None else "",
    )
    text = describe(facts, author or Author())

    def compare(folder: Path) -> None:
        if checkout is not None:
            demand_the_same(checkout, rule.dataset, folder, root_dir, results)

    is_new = write_bundle(out, rule.dataset, files, results, text, archive=facts.archive, force=force, check=compare)
    return Bundle(
        out,
        rule,
        tuple(replicates),
        results,
        left_out,
        checkout,
        facts.is_miniature,
        is_new,
        count_open(text),
    )
