"""Whole runs of the built-in runner: evaluation of saved models, pretrained weights, the command, progress."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch

from wilds_targeted.errors import ConfigError, DataError
from wilds_targeted.models.weights import load_weights, match_names
from wilds_targeted.runner import progress

PREDICTIONS = "iwildcam_split:{}_seed:0_epoch:{}_pred.csv"


def test_eval_only_repeats_the_best_epochs_predictions(train: Callable) -> None:
    folder = train("--save_step", "1")
    before = {split: (folder / PREDICTIONS.format(split, "best")).read_bytes() for split in ("val", "test", "id_test")}
    rows = len(pd.read_csv(folder / "test_eval.csv"))
    train("--save_step", "1", "--eval_only")
    best = int(torch.load(folder / "iwildcam_seed:0_epoch:best_model.pth", weights_only=True)["epoch"])
    for split, predictions in before.items():
        assert (folder / PREDICTIONS.format(split, "best")).read_bytes() == predictions
        assert (folder / PREDICTIONS.format(split, best)).read_bytes() == predictions
    evaluated = pd.read_csv(folder / "test_eval.csv")
    assert len(evaluated) == rows + 1
    assert evaluated.iloc[-1].tolist() == evaluated[evaluated.epoch == best].iloc[0].tolist()
    assert "Eval split test at epoch" in (folder / "log.txt").read_text()


def test_eval_of_another_epoch_leaves_the_best_alone(train: Callable) -> None:
    folder = train("--save_step", "1")
    best = (folder / PREDICTIONS.format("test", "best")).read_bytes()
    train("--save_step", "1", "--eval_only", "--eval_epoch", "0")
    assert (folder / PREDICTIONS.format("test", "best")).read_bytes() == best
    with pytest.raises(DataError, match=r"epoch:7_model\.pth: there is no such file"):
        train("--eval_only", "--eval_epoch", "7")
    with pytest.raises(ConfigError, match="does not fit --algorithm deepCORAL"):
        train("--eval_only", "--algorithm", "deepCORAL", "--additional_train_transform", "none")


def test_a_run_starts_from_saved_weights(train: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    weights = str(train(name="first") / "iwildcam_seed:0_epoch:last_model.pth")
    whole = train("--pretrained_model_path", weights, "--lr", "0", "--n_epochs", "1", name="whole")
    assert f"Initialized miniature-cnn with the weights of {weights}" in capsys.readouterr().out
    saved, started = (torch.load(p, weights_only=True)["algorithm"] for p in (weights, whole / Path(weights).name))
    assert torch.equal(saved["model.classifier.weight"], started["model.classifier.weight"])
    part = train(
        "--pretrained_model_path", weights, "--load_featurizer_only", "--lr", "0", "--n_epochs", "1", name="part"
    )
    features = torch.load(part / Path(weights).name, weights_only=True)["algorithm"]
    assert torch.equal(saved["model.stages.0.0.weight"], features["model.0.stages.0.0.weight"])
    assert not torch.equal(saved["model.classifier.weight"], features["model.1.weight"])
    coral = train(
        *"--algorithm deepCORAL --additional_train_transform none --lr 0 --n_epochs 1".split(),
        "--pretrained_model_path",
        weights,
        name="coral",
    )
    assert torch.equal(
        saved["model.classifier.weight"],
        torch.load(coral / Path(weights).name, weights_only=True)["algorithm"]["classifier.weight"],
    )


def test_foreign_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.pth"
    torch.save({"state_dict": {"encoder.weight": torch.zeros(7, 7)}}, path)
    with pytest.raises(DataError, match=r"none of its 1 weights fits this model; its first is 'encoder\.weight'"):
        load_weights(torch.nn.Linear(2, 3), str(path))
    torch.save([1, 2], path)
    with pytest.raises(DataError, match="holds list, where a dictionary"):
        load_weights(torch.nn.Linear(2, 3), str(path))
    with pytest.raises(DataError, match="there is no such file"):
        load_weights(torch.nn.Linear(2, 3), str(tmp_path / "nowhere.pth"))


def test_names_are_matched_by_what_stands_in_front() -> None:
    weights = {"module.backbone.conv.weight": torch.ones(2), "module.backbone.conv.bias": torch.ones(3)}
    wanted = {"0.conv.weight": torch.zeros(2), "0.conv.bias": torch.zeros(3), "1.weight": torch.zeros(4)}
    assert sorted(match_names(weights, wanted)) == ["0.conv.bias", "0.conv.weight"]
    assert match_names({"a": torch.ones(2)}, {"a": torch.ones(5)}) == {}


def test_the_command_chooses_its_runner(run: Callable, miniature: Path, tmp_path: Path) -> None:
    flags = ["--root_dir", miniature, "--dataset", "iwildcam", "--algorithm", "ERM", "--model", "miniature-cnn"]
    small = "--target_resolution 16 16 --n_epochs 1 --frac 0.3 --loader_kwargs num_workers=0".split()
    nowhere = {"WILDS_CHECKOUT": "", "WILDS_TARGETED_CACHE": str(tmp_path / "cache")}
    auto = run("wilds-targeted", "run", *flags, *small, how="command", **nowhere)
    assert auto.status == 0, auto.output
    assert "running the built-in runner (no WILDS checkout found)" in auto.output
    wilds = run("wilds-targeted", "run", *flags, *small, "--runner", "wilds", how="command", **nowhere)
    assert wilds.status == 1
    assert "no WILDS checkout" in wilds.last_line
    both = run("wilds-targeted", "run", *flags, "--runner=builtin", "--wilds", tmp_path, how="command")
    assert both.status == 1
    assert "leave one out" in both.last_line
    named = run("wilds-targeted", "run", *flags, how="command", WILDS_CHECKOUT="nowhere")
    assert named.status == 1
    assert "$WILDS_CHECKOUT is nowhere, which is no WILDS checkout" in named.last_line
    found = tmp_path / "wilds"
    found.mkdir()
    (found / "examples").symlink_to(Path(__file__).parent.parent / "standin_examples")
    auto = run("wilds-targeted", "run", *flags, *small, how="command", **nowhere)
    assert f"running {Path('wilds/examples/run_expt.py')}" in auto.output


def test_help_lists_the_flags(run: Callable) -> None:
    finished = run("wilds-targeted", "run", "--runner", "builtin", "--help", how="command", COLUMNS="200")
    assert finished.status == 0
    for words in ("--runner [auto|wilds|builtin]", "--on_bad_example", "--cdan_penalty_weight", "copypaste", "IRM"):
        assert words in finished.output
    assert "--unlabeled_split" not in finished.output


def test_a_wrong_flag_gets_one_line(run: Callable, miniature: Path) -> None:
    flags = ["--root_dir", miniature, "--dataset", "iwildcam", "--algorithm", "ERM", "--use_wandb", "true"]
    finished = run("wilds-targeted", "run", "--runner", "builtin", *flags, how="command")
    assert finished.status == 1
    assert finished.last_line.startswith("wilds-targeted: error: --use_wandb: the built-in runner has no Weights")
    assert "Traceback" not in finished.output


def test_python_dash_m_is_the_command() -> None:
    finished = subprocess.run([sys.executable, "-m", "wilds_targeted", "--version"], capture_output=True, text=True)
    assert finished.stdout.startswith("wilds-targeted, version ")


def test_progress_goes_to_standard_error_alone(train: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    folder = train("--progress_bar", "true", "--n_epochs", "1")
    told = capsys.readouterr()
    assert "batch/s" in told.err
    assert "epoch 0 train" in told.err
    assert "batch/s" not in told.out
    assert "batch/s" not in (folder / "log.txt").read_text()


def test_plain_lines_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    assert list(progress.show_progress("abcd", 10, "epoch 0 train", "batch", None, done=6)) == list("abcd")
    assert capsys.readouterr().err.splitlines() == [
        "epoch 0 train: 8 of 10 (80%), 0.1 batch/s, 40 s left",
        "epoch 0 train: 10 of 10 (100%), 0.1 batch/s, 0 s left",
    ]
