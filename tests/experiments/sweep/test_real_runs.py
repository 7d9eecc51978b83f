"""A recipe on the smallest miniature, with real training: killed and resumed, it ends with the same numbers."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from wilds_targeted.experiments.runs import find_runs
from wilds_targeted.experiments.sweep.status import read_status

RECIPE = """
dataset = "iwildcam"
flags = "--algorithm ERM --optimizer Adam --weight_decay 0 --val_metric F1-macro_all"
metric = "F1-macro_all"
in_domain = "id_test"
out_of_domain = "test"
n_draws = 10
tuning_seeds = [0]
final_seeds = [0, 1, 2, 3, 4]

[miniature]
options = \"\"\"
--train-cameras 12 --val-cameras 3 --test-cameras 3 --images-per-camera 40 --images-per-unseen-camera 8 --size 48 36
\"\"\"
flags = \"\"\"
--model miniature-cnn --target_resolution 36 48 --batch_size 16 --n_epochs 4
--loader_kwargs num_workers=0 pin_memory=False --checkpoint_every 0.2
\"\"\"
n_draws = 2
tuning_seeds = [0]
final_seeds = [0, 1]

[[recipes]]
name = "paste"
title = "Copy-Paste (Same Y)"
flags = "--transform copypaste_samey"
search.lr = { log10_uniform = [-3.5, -2] }
search.transform_p = { uniform = [0.5, 0.9] }
"""


def start(recipe: Path, out: Path) -> subprocess.Popen[str]:
    words = ["reproduce", str(recipe), "--miniature", "--out", str(out), "--jobs", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", "wilds_targeted", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_a_reproduction_killed_and_resumed_equals_an_undisturbed_one(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text(RECIPE)
    with start(recipe, tmp_path / "undisturbed") as undisturbed:
        row, _ = undisturbed.communicate(timeout=300)
    assert undisturbed.returncode == 0
    assert row.splitlines()[-1].startswith("test")

    # What is generated is the same, and shared by rows of one data set; it is not made again.
    shutil.copytree(tmp_path / "undisturbed" / "data", tmp_path / "killed" / "data")
    out, folder = tmp_path / "killed", tmp_path / "killed" / "mine" / "paste"
    kill_when(recipe, out, lambda: bool(list(folder.glob("units/draw0?-seed0-*/val_eval.csv"))))  # while tuning
    (status,) = read_status(out)
    assert (status.stage, status.done + status.left, status.later) == ("tuning", 2, 1)
    kill_when(recipe, out, lambda: bool(list(folder.glob("units/*-seed1-*/val_eval.csv"))))  # in the final stage
    with start(recipe, out) as resumed:
        again, _ = resumed.communicate(timeout=300)
    assert again == row
    for name in ("results.csv", "choice.json", "runs.json"):
        assert (folder / name).read_bytes() == (tmp_path / "undisturbed" / "mine" / "paste" / name).read_bytes()
    runs = find_runs([out])
    assert [run.seed for run in runs] == [0, 1]
    for run, other in zip(runs, find_runs([tmp_path / "undisturbed"]), strict=True):
        mine, theirs = run.predictions("test"), other.predictions("test")
        assert mine.read_bytes() == theirs.read_bytes()
    starts = {path.parent.name: len(path.read_text().splitlines()) for path in folder.glob("units/*/starts.txt")}
    assert len(starts) == 3
    assert max(starts.values()) == 2


def kill_when(recipe: Path, out: Path, condition: Callable[[], bool]) -> None:
    """Kill the driver as soon as that holds; its runs must end with it."""
    with start(recipe, out) as driver:
        end = time.monotonic() + 200
        while not condition():
            assert driver.poll() is None
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.02)
        driver.kill()
    while read_status(out)[0].running:
        assert time.monotonic() < end, "a run outlived its driver"
        time.sleep(0.02)
