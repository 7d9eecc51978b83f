"""Every registered transform and algorithm trains for two epochs: by an unmodified `run_expt.py` and by our runner.

Transforms on the miniature of their data set; those that serve any on all. Both ways give the same predictions and
weights. The stand-in's script runs always, WILDS's own where there is a checkout.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from wilds_targeted.registry import get_registry
from wilds_targeted.testing import served_miniatures

STANDIN = Path(__file__).parent / "standin_examples"
IN_STANDIN = ("ERM", "CDAN")
"""The algorithms that the stand-in can train with the same bits."""

FIXTURE_OF = {"iwildcam": "miniature", "camelyon17": "camelyon_miniature", "birdcalls": "birdcalls_miniature"}
FLAGS = (
    "--model miniature-cnn --target_resolution 24 24 --n_epochs 2 --batch_size 16 --frac 0.4 --optimizer Adam "
    "--loader_kwargs num_workers=0 pin_memory=False --transform_p 0.8 --evaluate_all_splits false --eval_splits test "
    "--additional_train_transform none --seed 3"
).split()


def check_outputs(folder: Path, dataset: str) -> None:
    for split in ("train", "val", "test"):
        losses = pd.read_csv(folder / f"{split}_algo.csv")["loss_avg"]
        assert losses.notna().all(), f"{split}: {losses.tolist()}"
        assert pd.read_csv(folder / f"{split}_eval.csv")["epoch"].tolist() == [0, 1]
    assert (folder / f"{dataset}_split:test_seed:3_epoch:last_pred.csv").read_text().strip()


def check_same(ours: Path, theirs: Path, dataset: str) -> None:
    name = f"{dataset}_split:test_seed:3_epoch:last_pred.csv"
    assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    name = f"{dataset}_seed:3_epoch:last_model.pth"
    our_weights, their_weights = (torch.load(path / name, weights_only=True)["algorithm"] for path in (ours, theirs))
    assert list(our_weights) == list(their_weights)
    assert all(torch.equal(value, their_weights[key]) for key, value in our_weights.items())


@pytest.fixture
def train_both(run: Callable, examples: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Train by our runner and by the script, and compare."""

    def train_both(dataset: str, *flags: str, script: bool = True) -> None:
        root: Path = request.getfixturevalue(FIXTURE_OF[dataset])
        words = ["--dataset", dataset, "--root_dir", str(root), *FLAGS, *flags, "--log_dir"]
        finished = run("wilds-targeted", "run", "--runner", "builtin", *words, "ours", how="command")
        assert finished.status == 0, finished.output
        check_outputs(tmp_path / "ours", dataset)
        if script:
            finished = run(examples / "run_expt.py", *words, "theirs")
            assert finished.status == 0, finished.output
            check_outputs(tmp_path / "theirs", dataset)
            check_same(tmp_path / "ours", tmp_path / "theirs", dataset)

    return train_both


def cases() -> list[Any]:
    """Every transform on each miniature that it serves; a third miniature of one that serves any is slow."""
    transforms = get_registry().transforms
    return [
        pytest.param(name, dataset, marks=pytest.mark.slow)
        if dataset == "birdcalls" and not transforms[name].datasets
        else (name, dataset)
        for name, dataset in served_miniatures()
    ]


@pytest.mark.parametrize(("name", "dataset"), cases())
def test_every_transform(name: str, dataset: str, train_both: Callable) -> None:
    train_both(dataset, "--algorithm", "ERM", "--transform", name)


@pytest.mark.parametrize("name", sorted(get_registry().algorithms))
def test_every_algorithm(name: str, train_both: Callable, examples: Path) -> None:
    train_both("camelyon17", "--algorithm", name, script=examples != STANDIN or name in IN_STANDIN)
