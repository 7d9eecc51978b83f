"""`wilds-targeted report` on runs that were really trained, with the data set they were trained on."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from reported_runs import write_two_methods

FLAGS = (
    "--runner builtin --dataset iwildcam --algorithm ERM --model miniature-cnn --target_resolution 16 16 --n_epochs 2 "
    "--batch_size 16 --loader_kwargs num_workers=0 --progress_bar false --evaluate_all_splits false "
    "--eval_splits id_test test --lr 1e-3"
).split()


@pytest.fixture
def trained(run: Callable, miniature: Path, tmp_path: Path) -> Path:
    for transform in ("image_base", "copypaste_all"):
        for seed in (0, 1):
            log_dir = f"logs/{transform}-{seed}"
            flags = [*FLAGS, "--root_dir", miniature, "--transform", transform, "--seed", seed, "--log_dir", log_dir]
            finished = run("wilds-targeted", "run", *flags, how="command")
            assert finished.status == 0, finished.output
    return tmp_path / "logs"


@pytest.mark.slow
def test_trained_runs_with_their_data(run: Callable, trained: Path, miniature: Path, tmp_path: Path) -> None:
    from wilds_targeted.api import get_dataset

    words = ["report", trained, "--out", "report", "--root_dir", miniature, *"--fit 1 0 --fit-scale probit".split()]
    finished = run("wilds-targeted", *words, how="command")
    assert finished.status == 0, finished.output
    assert "Copy-Paste (All Backgrounds)" in finished.output
    assert "note: The paper's numbers are not put beside" in finished.output
    assert "The page: report/index.html" in finished.output
    report = tmp_path / "report"
    compared = {row["split"]: row for row in csv.DictReader((report / "comparisons.csv").open())}
    assert compared["test"]["low_seeds_and_test"]
    assert not compared["id_test"]["low_seeds_and_test"]
    rows = list(csv.DictReader((report / "iwildcam-breakdown.csv").open()))
    dataset = get_dataset("iwildcam", root_dir=str(miniature))
    cameras = [row for row in rows if row["unit"] == "locations"]
    assert sum(int(row["examples"]) for row in cameras) == len(dataset.get_subset("test"))
    # The mean over cameras, weighted with their sizes, is the accuracy that the logs tell.
    logged = [_last_accuracy(trained / f"copypaste_all-{seed}") for seed in (0, 1)]
    share = sum(int(row["examples"]) * float(row["method_score"]) for row in cameras)
    assert share / len(dataset.get_subset("test")) == pytest.approx(sum(logged) / 2, abs=1e-6)
    assert "Who gains, who loses" in (report / "index.html").read_text()

    # Predictions that were made from other data: nothing is broken down, and it is said why.
    labels = dataset.get_subset("test").y_array.tolist()
    for path in trained.glob("*/iwildcam_split:test_seed:*_epoch:best_pred.csv"):
        path.write_text("".join(f"{label}\n" for label in labels))
    finished = run("wilds-targeted", *words[:2], "--out", "again", "--root_dir", miniature, how="command")
    assert finished.status == 0, finished.output
    assert "note: The breakdown by domain and class is left out:" in finished.output
    assert "it was made from other data, or in another epoch" in finished.output
    assert not (tmp_path / "again" / "iwildcam-breakdown.csv").exists()


def _last_accuracy(folder: Path) -> float:
    val = list(csv.DictReader((folder / "val_eval.csv").open()))
    best = max(val, key=lambda row: float(row["F1-macro_all"]))["epoch"]
    return next(
        float(row["acc_avg"]) for row in csv.DictReader((folder / "test_eval.csv").open()) if row["epoch"] == best
    )


def test_wrong_words_get_one_line(run: Callable, tmp_path: Path) -> None:
    runs = write_two_methods(tmp_path / "runs")
    (tmp_path / "empty").mkdir()
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / "runs.json").write_text(json.dumps({"runs": [], "failed": []}))
    for words, message in (
        (["empty"], "empty holds no run"),
        (["list"], "lists no finished run (0 failed)"),
        (["nowhere"], "nowhere is not a folder"),
        ([runs, "--compare", "Unaugmented", "Cutout"], "there is no method 'Cutout'"),
        ([runs, "--splits", "test"], "an in-domain split and an out-of-domain one are expected"),
        ([runs, "--fit", "1", "0", "--fit-to", "Unaugmented"], "three ways to one line"),
        ([runs, "--metric", "accuracy"], "none of the 5 runs can be reported on"),
    ):
        finished = run("wilds-targeted", "report", *words, "--out", "out", how="command")
        assert finished.status == 1
        assert finished.last_line.startswith("wilds-targeted: error: ")
        assert message in finished.last_line
        assert "Traceback" not in finished.output
    assert not (tmp_path / "out").exists()
