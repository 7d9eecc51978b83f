"""Finished runs against the leaderboard's rules: every violation is one line that names the file and the next step."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wilds_targeted.errors import DataError, WildsTargetedError, one_line
from wilds_targeted.experiments.leaderboard.predictions import Predictions, read_predictions
from wilds_targeted.experiments.leaderboard.rules import Rule, in_words
from wilds_targeted.experiments.leaderboard.scoring import Evaluator, Scores, epochs_that_score
from wilds_targeted.experiments.leaderboard.settings import differing_settings, n_epochs, wrong_settings
from wilds_targeted.experiments.runs import RunFolder


class SubmissionError(WildsTargetedError):
    """Runs that can't be submitted.

    Attributes:
        violations: All that is wrong with them, a line each.
    """

    def __init__(self, violations: Sequence[str]) -> None:
        self.violations = tuple(violations)
        super().__init__("; ".join(self.violations))


@dataclass(frozen=True)
class Replicate:
    """A run that keeps the rules.

    Args:
        run: Its folder.
        epoch: The epoch that validation chooses.
        predictions: Of that epoch, by split.
        scores: By split; all metrics of WILDS's evaluator.
    """

    run: RunFolder
    epoch: int
    predictions: Mapping[str, Predictions]
    scores: Mapping[str, Scores]


def demand_one_dataset(runs: Sequence[RunFolder]) -> str:
    """The data set of all the runs.

    Raises:
        SubmissionError: There are several.
    """
    by_name: dict[str, list[RunFolder]] = defaultdict(list)
    for run in runs:
        by_name[run.dataset].append(run)
    if len(by_name) > 1:
        found = ", ".join(f"{name} ({len(some)}, such as {some[0].path})" for name, some in sorted(by_name.items()))
        raise SubmissionError([f"the runs are of several data sets: {found}; give those of one, a bundle for each"])
    return runs[0].dataset


def choose_runs(runs: Sequence[RunFolder], rule: Rule) -> tuple[list[RunFolder], list[str]]:
    """The runs of the seeds that the rule asks for, and a line for each seed that is missing or there twice."""
    by_seed: dict[int, list[RunFolder]] = defaultdict(list)
    for run in runs:
        by_seed[run.seed].append(run)
    failed = {seed: unit for run in runs if run.listed is not None for unit, seed in run.listed.failed}
    violations = []
    for seed in rule.seeds:
        found = by_seed.get(seed, [])
        if len(found) > 1:
            places = ", ".join(str(run.path) for run in found)
            violations.append(f"seed {seed} is there {len(found)} times: {places}; leave all but one out")
        if not found:
            why = f" (its run failed: {failed[seed]})" if seed in failed else ""
            violations.append(
                f"seed {seed} is missing{why}: {rule.source} asks for seeds {rule.seeds_in_words} of {rule.dataset}, "
                f"and there are {in_words(by_seed)}; train it with --seed {seed}"
            )
    return [by_seed[seed][0] for seed in rule.seeds if seed in by_seed], violations


def check_all(runs: Sequence[RunFolder], evaluator: Evaluator) -> tuple[list[Replicate], list[str]]:
    """Every run by itself, and all together: those that keep the rules, and what is wrong."""
    violations = list(differing_settings(runs))
    replicates = []
    for run in runs:
        # Where a run is of another split, whatever its files hold is of no interest.
        wrong = list(wrong_settings(run)) or [*_unfinished(run), *_confusing_files(run, evaluator.splits)]
        if not wrong:
            replicate, wrong = check_predictions(run, evaluator)
            replicates += [replicate] if replicate is not None else []
        violations += wrong
    return replicates, violations


def _unfinished(run: RunFolder) -> Iterator[str]:
    """Whether epochs are missing, in a line."""
    wanted = n_epochs(run)
    try:
        there = run.table("val")
    except DataError as error:
        yield one_line(error)
        return
    done = sum(0 <= epoch < wanted for epoch in there)
    if done < wanted:
        yield (
            f"{run.path} is unfinished: val_eval.csv has {done} of {wanted} epochs; let it go on with the same "
            f"flags and --resume"
        )


def _confusing_files(run: RunFolder, splits: Sequence[str]) -> Iterator[str]:
    """Files of other seeds, and files of which two might be the one that is meant."""
    names = sorted(path.name for path in run.path.iterdir())
    prefix = re.compile(rf"{re.escape(run.dataset)}_split:.+_seed:(-?\d+)_.*pred\.(?:csv|pth)")
    others = {int(found[1]) for name in names if (found := prefix.fullmatch(name))} - {run.seed}
    if others:
        yield (
            f"{run.path} is the log folder of seed {run.seed} and has predictions of {in_words(others)}, too: "
            f"evaluate.py goes by how names begin, where seed:1 is seed:10 as well; give each run a folder of its own"
        )
    for split in splits:
        beginning = run.predictions(split).name.removesuffix("_pred.csv")
        same = [name for name in names if name.startswith(beginning) and name.endswith((".csv", ".pth"))]
        if len(same) > 1:
            yield (
                f"{run.path} has {len(same)} files of the best epoch's predictions for {split}: {', '.join(same)}; "
                f"keep the one that the run wrote"
            )


def check_predictions(run: RunFolder, evaluator: Evaluator) -> tuple[Replicate | None, list[str]]:
    """Files, tables and the choice of the epoch; None with what is wrong, a line each."""
    try:
        best = run.best_epoch()
    except DataError as error:
        return None, [one_line(error)]
    predictions: dict[str, Predictions] = {}
    scores: dict[str, Scores] = {}
    epochs: dict[str, list[int]] = {}
    violations = []
    for split in evaluator.splits:
        try:
            table = run.table(split)
            if best not in table:
                raise DataError(
                    f"{run.path / f'{split}_eval.csv'} has no epoch {best}, which validation chooses; evaluate every "
                    f"split in every epoch (--evaluate_all_splits true)"
                )
            found = read_predictions(run.predictions(split), evaluator.size(split), evaluator.n_classes)
        except DataError as error:
            violations.append(one_line(error))
            continue
        predictions[split] = found
        scores[split] = evaluator.score(split, found.labels)
        epochs[split] = epochs_that_score(scores[split], table)
    violations += _wrong_epochs(run, best, epochs, scores)
    return (None if violations else Replicate(run, best, predictions, scores)), violations


def _wrong_epochs(
    run: RunFolder, best: int, epochs: Mapping[str, Sequence[int]], scores: Mapping[str, Scores]
) -> list[str]:
    """Predictions that are not of the epoch that validation chooses.

    Args:
        run: The run.
        best: That epoch.
        epochs: By split, those that the predictions score as.
        scores: By split, how they score.
    """
    wrong = [split for split, found in epochs.items() if best not in found]
    if wrong:
        common = sorted(set.intersection(*(set(found) for found in epochs.values())))
        if common:
            return [all_of_another_epoch(run, best, common)]
    return [
        _of_another_epoch(run, run.predictions(split), split, best, epochs[split], scores[split]) for split in wrong
    ]


def all_of_another_epoch(run: RunFolder, best: int, common: Sequence[int]) -> str:
    """What is said where all splits' files are of one epoch, and not of the best one on validation."""
    test = {epoch: row[run.val_metric] for epoch, row in run.table("test").items() if run.val_metric in row}
    sign = -1 if run.val_metric_decreasing else 1
    favourite = max(test, key=lambda epoch: sign * test[epoch], default=None)
    of = f"all predictions of {run.path} are of epoch {common[0]}"
    if favourite in common:
        of = f"all predictions of {run.path} are of epoch {favourite}, the best one on test"
    row = run.table("val")
    values = f"{run.val_metric} {row[best][run.val_metric]:.4f}"
    return (
        f"{of}, and validation chooses epoch {best} ({values} on val): epochs are chosen on validation only; put that "
        f"epoch's predictions there, or run it again"
    )


def _of_another_epoch(run: RunFolder, path: Path, split: str, best: int, found: Sequence[int], scores: Scores) -> str:
    """One split's file that is of another epoch, or of another run."""
    if found:
        return (
            f"{path} holds the predictions of epoch {found[0]}, and validation chooses epoch {best}: all splits must "
            f"be of that one; put that epoch's predictions there, or run it again"
        )
    noted = run.table(split)[best]
    name = next(name for name, value in scores.items() if not epochs_that_score({name: value}, {best: noted}))
    return (
        f"{path} is of another run, or was changed: {name} is {scores[name]:.6g}, and {split}_eval.csv says "
        f"{noted.get(name, 'nothing')} of epoch {best}; put the run's own file there, or run it again"
    )
