"""Every registered transform trains for two epochs: through an unmodified `run_expt.py` and in the built-in runner.

On the miniature of its data set; the names that serve any are run on both. The stand-in's script runs always, WILDS's
own where there is a checkout.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from wilds_targeted.testing import served_miniatures

FIXTURE_OF = {"iwildcam": "miniature", "camelyon17": "camelyon_miniature"}
CASES = served_miniatures()
FLAGS = (
    "--algorithm ERM --model miniature-cnn --target_resolution 24 24 --n_epochs 2 --batch_size 16 --frac 0.4 "
    "--optimizer Adam --loader_kwargs num_workers=0 pin_memory=False --transform_p 0.8 --evaluate_all_splits false "
    "--eval_splits test --log_dir logs --seed 3"
).split()


def flags_for(name: str, dataset: str, request: pytest.FixtureRequest) -> list[str]:
    root: Path = request.getfixturevalue(FIXTURE_OF[dataset])
    return ["--dataset", dataset, "--root_dir", str(root), "--transform", name, *FLAGS]


def check_outputs(folder: Path, dataset: str) -> None:
    for split in ("train", "val", "test"):
        losses = pd.read_csv(folder / f"{split}_algo.csv")["loss_avg"]
        assert losses.notna().all(), f"{split}: {losses.tolist()}"
        assert pd.read_csv(folder / f"{split}_eval.csv")["epoch"].tolist() == [0, 1]
    assert (folder / f"{dataset}_split:test_seed:3_epoch:last_pred.csv").read_text().strip()


@pytest.mark.parametrize(("name", "dataset"), CASES)
def test_in_run_expt(
    name: str, dataset: str, run: Callable, examples: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    finished = run(examples / "run_expt.py", *flags_for(name, dataset, request))
    assert finished.status == 0, finished.output
    check_outputs(tmp_path / "logs", dataset)


@pytest.mark.parametrize(("name", "dataset"), CASES)
def test_in_the_built_in_runner(
    name: str, dataset: str, run: Callable, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    words = ["run", "--runner", "builtin", *flags_for(name, dataset, request)]
    finished = run("wilds-targeted", *words, how="command")
    assert finished.status == 0, finished.output
    check_outputs(tmp_path / "logs", dataset)
