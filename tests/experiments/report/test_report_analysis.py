"""Comparisons with the data set at hand: log folders written here, predictions whose scores a person can check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reported_runs import write_log
from scipy.stats import binom

from wilds_targeted.api import get_dataset
from wilds_targeted.experiments.report.analysis import Findings, FitChoice, analyse
from wilds_targeted.experiments.report.gathering import Choices, gather
from wilds_targeted.experiments.runs import find_runs


@pytest.fixture(scope="module")
def split(miniature: Path) -> Any:
    return get_dataset("iwildcam", root_dir=str(miniature)).get_subset("test")


def write_predicted(folder: Path, split: Any, right: np.ndarray, *, epoch: int | str = "best", **settings: Any) -> Path:
    """A run that answers right where it is told to, and a wrong class elsewhere."""
    labels = split.y_array.numpy()
    wrong = (labels + 1) % int(labels.max() + 1)
    write_log(folder, {"id_test": (0.1, 0.2), "test": (0.1, 0.2)}, **settings)
    (folder / "test_eval.csv").write_text(f"epoch,F1-macro_all,acc_avg\n0,0.1,0.1\n1,0.2,{float(right.mean())}\n")
    answers = np.where(right, labels, wrong)
    path = folder / f"iwildcam_split:test_seed:{settings['seed']}_epoch:{epoch}_pred.csv"
    path.write_text("".join(f"{answer}\n" for answer in answers))
    return folder


def analysed(runs: Path, miniature: Path, metric: str = "acc_avg") -> Findings:
    """Accuracies on the test split alone: it stands for the in-domain one, too."""
    for path in runs.glob("*/id_test_eval.csv"):
        path.write_bytes((path.parent / "test_eval.csv").read_bytes())
    (section,) = gather(find_runs([runs]), Choices({}, metric=metric))
    return analyse(section, (), miniature, FitChoice())


def test_pairs_gains_and_wider_intervals_by_hand(miniature: Path, split: Any, tmp_path: Path) -> None:
    size = len(split)
    locations = split.metadata_array[:, split.metadata_fields.index("location")].numpy()
    nothing, everything, first = np.zeros(size, bool), np.ones(size, bool), locations == locations.min()
    # Seed 0 has no pair. Of the two pairs both sides move together: each gains all of the first camera, nothing else.
    write_predicted(tmp_path / "plain-0", split, everything, seed=0)
    write_predicted(tmp_path / "plain-1", split, nothing, seed=1, epoch=1)
    write_predicted(tmp_path / "plain-2", split, ~first, seed=2)
    write_predicted(tmp_path / "pasted-1", split, first, seed=1, transform="copypaste_samey")
    write_predicted(tmp_path / "pasted-2", split, everything, seed=2, transform="copypaste_samey")
    found = analysed(tmp_path, miniature)
    (comparison,) = found.comparisons
    difference = comparison.differences["test"]
    assert difference.seeds == (1, 2)
    assert difference.mean == pytest.approx(first.mean())
    assert comparison.differences["id_test"].wider is None
    # The split has so few cameras that examples are drawn. Whatever seeds are drawn, pairs differ by the share of the
    # first camera's examples.
    assert found.units == f"{size} examples"
    expected = binom.ppf([0.025, 0.975], size, first.mean()) / size
    assert difference.wider is not None
    assert (difference.wider.low, difference.wider.high) == pytest.approx(expected, abs=0.02)
    cameras, classes = comparison.breakdowns
    assert (cameras.unit, cameras.score, classes.unit, classes.score) == ("locations", "accuracy", "classes", "F1")
    top = cameras.lines[0]
    # Baselines of the first camera: 1, 0, 0; of others 1, 0, 1. Both runs of the method have it; the others one has.
    assert (top.examples, top.baseline, top.method) == (first.sum(), pytest.approx(1 / 3), pytest.approx(1))
    assert len(cameras.lines) > 1
    for line in cameras.lines[1:]:
        assert (line.baseline, line.method) == (pytest.approx(2 / 3), pytest.approx(1 / 2))


def test_predictions_of_other_data_are_left_out(miniature: Path, split: Any, tmp_path: Path) -> None:
    everything = np.ones(len(split), bool)
    for seed in (0, 1):
        write_predicted(tmp_path / f"plain-{seed}", split, everything, seed=seed)
        write_predicted(tmp_path / f"pasted-{seed}", split, everything, seed=seed, transform="copypaste_samey")
    log = tmp_path / "plain-0" / "test_eval.csv"
    log.write_text(log.read_text().replace("0.2,1.0", "0.2,0.99"))
    found = analysed(tmp_path, miniature)
    assert found.comparisons[0].breakdowns == ()
    assert found.units == ""
    assert any("scores an accuracy of 1.0000" in note and "log says 0.9900" in note for note in found.section.notes)


def test_two_unaugmented_methods_are_no_baseline(tmp_path: Path) -> None:
    scores = {"id_test": (0.1, 0.2), "test": (0.1, 0.2)}
    for name, settings in {"a": {}, "b": {"lr": 1}, "c": {"additional_train_transform": "randaugment"}}.items():
        write_log(tmp_path / name, scores, seed=0, **settings)
    (section,) = gather(find_runs([tmp_path]), Choices({}))
    assert [method.is_unaugmented for method in section.methods] == [True, True, False]
    found = analyse(section, (), None, FitChoice())
    assert found.comparisons == ()
    assert any("2 of them are unaugmented ones to compare with" in note for note in found.section.notes)
