"""The whole way with commands alone: a row of the paper repeated, reported, and packed for the leaderboard."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

RECIPES = ("iwildcam/copypaste_samey", "camelyon17/stain_color_jitter", "birdcalls/copypaste_sameregion")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One recipe of each data set, repeated on its miniature."""
    out = tmp_path_factory.mktemp("reproduced") / "rows"
    command = [sys.executable, "-m", "wilds_targeted", "reproduce", *RECIPES, "--miniature", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for recipe in RECIPES:
        assert f"({recipe}), per cent, mean over 2 seeds" in done.stdout
    return out


@pytest.mark.slow
def test_a_recipe_of_each_data_set_is_reproduced_reported_and_packed(rows: Path, run: Callable, tmp_path: Path) -> None:
    done = run("wilds-targeted", "report", rows, "--out", "page", "--root_dir", rows / "data", how="command")
    assert done.status == 0, done.output
    assert (tmp_path / "page" / "index.html").is_file()
    with (tmp_path / "page" / "results.csv").open(newline="") as file:
        reported = {row["data"]: row for row in csv.DictReader(file) if row["split"] == "test"}
    assert list(reported) == ["birdcalls", "camelyon17", "iwildcam"]
    for recipe in RECIPES:
        dataset, _, name = recipe.partition("/")
        flags = ("--root_dir", rows / "data", "--out", name, "--seeds", "0-1")
        done = run("wilds-targeted", "submit", rows / recipe, *flags, how="command")
        assert done.status == 0, done.output
        scores = json.loads((tmp_path / name / f"{dataset}_results.json").read_text())
        metric = reported[dataset]["metric"]
        assert scores["test"][metric] == pytest.approx(float(reported[dataset]["mean"]))  # by two ways the same
        assert (tmp_path / name / "predictions.tar.gz").is_file()
        assert f"The runs are those of the recipe `{recipe}`" in (tmp_path / name / "SUBMISSION.md").read_text()
    # WILDS's leaderboard asks for three seeds of iWildCam, and a recipe's miniature has two.
    done = run(
        "wilds-targeted", "submit", rows / RECIPES[0], *("--root_dir", rows / "data", "--out", "b"), how="command"
    )
    assert done.status == 1
    assert "seed 2 is missing" in done.output
    assert not (tmp_path / "b").exists()
