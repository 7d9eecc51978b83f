"""Scores of predictions by WILDS's own evaluators, over replicates as its ``evaluate.py`` forms them."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wilds_targeted.bridge.checkout import find_checkout
from wilds_targeted.errors import CheckoutError, DataError, one_line
from wilds_targeted.experiments.leaderboard.rules import Rule

TOLERANCE = 1e-6
"""How far a score may be from the one a run noted: below one example of the largest split, above float32's rounding."""

Scores = Mapping[str, float]
Results = dict[str, dict[str, float]]


class Evaluator:
    """A data set's splits and its evaluator.

    Args:
        dataset: The full `WILDSDataset`, with its official splits.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.n_classes: int = dataset.n_classes
        self._truth = {
            split: (subset.y_array, subset.metadata_array)
            for split in dataset.split_dict
            if split != "train"
            for subset in [dataset.get_subset(split)]
        }

    @property
    def splits(self) -> tuple[str, ...]:
        """Those that must be predicted: all but train, in the data set's order."""
        return tuple(self._truth)

    def size(self, split: str) -> int:
        """How many examples the split has."""
        return len(self._truth[split][0])

    def score(self, split: str, labels: NDArray[np.int64]) -> Scores:
        """All metrics of these predictions."""
        y_true, metadata = self._truth[split]
        results, _ = self.dataset.eval(torch.from_numpy(labels), y_true, metadata)
        return {name: float(value) for name, value in results.items()}


def epochs_that_score(scores: Scores, table: Mapping[int, Mapping[str, float]]) -> list[int]:
    """The epochs of a run's table in which all these scores stand."""
    return [epoch for epoch, row in table.items() if all(_same(value, row.get(name)) for name, value in scores.items())]


def _same(one: float, other: float | None) -> bool:
    if other is None:
        return False
    return (math.isnan(one) and math.isnan(other)) or abs(one - other) <= TOLERANCE


def aggregate(rule: Rule, replicates: Sequence[Mapping[str, Scores]], splits: Sequence[str]) -> Results:
    """Mean and standard deviation (ddof 1) of the reported metrics, in the form of WILDS's results file.

    Args:
        rule: Which metrics.
        replicates: For each seed, the scores by split.
        splits: In the order in which they are to stand.
    """
    results: Results = {}
    for split in splits:
        results[split] = {}
        for metric in rule.metrics:
            values = [scores[split][metric] for scores in replicates]
            results[split][f"{metric}_std"] = float(np.std(values, ddof=1))
            results[split][metric] = float(np.mean(values))
    return results


def optional_checkout(explicit: str | Path | None) -> Path | None:
    """The WILDS checkout; None where there is none and nobody named one."""
    try:
        return find_checkout(explicit)
    except CheckoutError as error:
        if not error.is_absence:
            raise
        return None


def demand_the_same(checkout: Path, dataset: str, predictions: Path, root_dir: Path, results: Results) -> None:
    """Let a checkout's ``evaluate.py`` score a folder of predictions, and compare.

    Raises:
        DataError: It refuses the folder, or gives other numbers.
    """
    theirs = _by_their_script(checkout / "examples" / "evaluate.py", dataset, predictions, root_dir)
    for split, scores in results.items():
        for name, value in scores.items():
            other = theirs.get(split, {}).get(name)
            if other is None or not math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12):
                raise DataError(
                    f"WILDS's evaluate.py in {checkout} gives {name} = {other} on {split}, and we have {value}: is "
                    f"its `wilds` another version? Nothing was written; --wilds names another checkout."
                )


def _by_their_script(script: Path, dataset: str, predictions: Path, root_dir: Path) -> Mapping[str, Scores]:
    """What the script's own function gives; it runs here, where `wilds` is mended already."""
    spec = importlib.util.spec_from_file_location("_wilds_evaluate", script)
    printed = io.StringIO()
    try:
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(printed):
            spec.loader.exec_module(module)
            module.evaluate_benchmark(dataset, str(predictions), out, str(root_dir))
            results: dict[str, Scores] = json.loads(Path(out, f"{dataset}_results.json").read_text(encoding="utf-8"))
    except Exception as error:  # whatever the script may raise, it is what the leaderboard would see
        raise DataError(f"{script} can't score the bundle: {one_line(error)}. Nothing was written.") from error
    return results
