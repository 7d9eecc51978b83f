"""CLIP towers train: by an unmodified `run_expt.py` and by our runner, with the same predictions and weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

STANDIN = Path(__file__).parent / "standin_examples"
WITHOUT_WEIGHTS = (
    "--dataset camelyon17 --n_epochs 2 --batch_size 8 --frac 0.5 --lr 1e-3 "
    "--loader_kwargs num_workers=0 pin_memory=False --evaluate_all_splits false --eval_splits test --seed 1"
).split()
SMALL = [*WITHOUT_WEIGHTS, "--model_kwargs", "pretrained=False"]
CASES = {
    "stain jitter": "--algorithm ERM --transform stain_color_jitter --transform_p 0.7",
    "fits": "--algorithm ERM --optimizer AdamW --weight_decay 0.1 --gradient_accumulation_steps 2 "
    "--gradient_checkpointing --scheduler cosine_schedule_with_warmup --scheduler_kwargs num_warmup_steps=2 "
    "--model_kwargs pretrained=False freeze=1 features=projected",
    "reference": "--algorithm ERM --target_resolution 40 24 --model_kwargs pretrained=False features=reference",
    "mixup": "--algorithm ERM --transform mixup",
    "additional": "--algorithm ERM --additional_train_transform stain_color_jitter",
    "featurizer": "--algorithm CDAN",
    "deepCORAL": "--algorithm deepCORAL --additional_train_transform none",
    "bf16": "--algorithm deepCORAL --additional_train_transform none --amp bf16",
}


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    state = torch.load(folder / "camelyon17_seed:1_epoch:last_model.pth", weights_only=True)
    weights: dict[str, torch.Tensor] = state["algorithm"]
    return weights


def check_same(ours: Path, theirs: Path) -> None:
    name = "camelyon17_split:test_seed:1_epoch:last_pred.csv"
    assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    one, other = weights_of(ours), weights_of(theirs)
    assert list(one) == list(other)
    assert all(torch.equal(value, other[key]) for key, value in one.items())


@pytest.mark.parametrize("case", CASES)
def test_both_ways_train_alike(
    case: str,
    run: Callable[..., Any],
    examples: Path,
    camelyon_miniature: Path,
    tiny_tower: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    if case == "bf16":
        request.getfixturevalue("bf16")
    words = ["--root_dir", camelyon_miniature, "--model", f"clip:{tiny_tower}", *SMALL, *CASES[case].split()]
    ours = run("wilds-targeted", "run", "--runner", "builtin", *words, "--log_dir", "ours", how="command")
    assert ours.status == 0, ours.output
    theirs = run(examples / "run_expt.py", *words, "--log_dir", "theirs")
    assert theirs.status == 0, theirs.output
    losses = pd.read_csv(tmp_path / "theirs" / "train_algo.csv")["loss_avg"]
    assert losses.notna().all()
    if examples != STANDIN or "deepCORAL" not in CASES[case]:  # the stand-in's sums have other last bits
        check_same(tmp_path / "ours", tmp_path / "theirs")


def test_the_towers_own_resolution_goes_before_the_data_sets(
    run: Callable[..., Any], examples: Path, camelyon_miniature: Path, tiny_tower: Path, tmp_path: Path
) -> None:
    words = ["--root_dir", camelyon_miniature, "--model", f"clip:{tiny_tower}", *SMALL, "--algorithm", "ERM"]
    for resolution, places in (((), 16), (("--target_resolution", "48", "40"), 30)):
        finished = run(examples / "run_expt.py", *words, "--n_epochs", "1", *resolution, "--log_dir", "logs")
        assert finished.status == 0, finished.output
        assert weights_of(tmp_path / "logs")["model.tower.positional_embedding"].shape == (1 + places, 64)


def test_a_trained_model_is_evaluated_and_started_from(
    run: Callable[..., Any], examples: Path, camelyon_miniature: Path, tiny_tower: Path, tmp_path: Path
) -> None:
    common = ["--root_dir", camelyon_miniature, "--model", f"clip:{tiny_tower}", "--algorithm", "ERM", *WITHOUT_WEIGHTS]
    logged = [*common, "--log_dir", "logs"]
    trained = run(examples / "run_expt.py", *logged, "--model_kwargs", "pretrained=False")
    assert trained.status == 0, trained.output
    before = (tmp_path / "logs" / "camelyon17_split:test_seed:1_epoch:best_pred.csv").read_bytes()
    again = run(examples / "run_expt.py", *logged, "--eval_only")  # needs no word about weights
    assert again.status == 0, again.output
    assert (tmp_path / "logs" / "camelyon17_split:test_seed:1_epoch:best_pred.csv").read_bytes() == before
    for command, how in (((examples / "run_expt.py",), "script"), (("wilds-targeted", "run"), "command")):
        builtin = () if how == "script" else ("--runner", "builtin")
        wrong = run(*command, *builtin, *logged, "--eval_only", "--model_kwargs", "quick_gelu=true", how=how)
        assert wrong.status != 0
        assert (
            "trained with other settings than this model has. Give --model_kwargs quick_gelu=false" in wrong.last_line
        )
        assert "Traceback" not in wrong.output
    start = str(tmp_path / "logs" / "camelyon17_seed:1_epoch:last_model.pth")
    onward = [*common, "--log_dir", "onward", "--pretrained_model_path", start, "--lr", "0", "--n_epochs", "1"]
    finished = run("wilds-targeted", "run", "--runner", "builtin", *onward, how="command")
    assert finished.status == 0, finished.output
    one, other = weights_of(tmp_path / "logs"), weights_of(tmp_path / "onward")
    assert all(torch.equal(value, other[key]) for key, value in one.items())


@pytest.mark.parametrize("algorithm", ["ERM", "deepCORAL"])
def test_a_checkout_resumes(
    algorithm: str, run: Callable[..., Any], examples: Path, camelyon_miniature: Path, tiny_tower: Path, tmp_path: Path
) -> None:
    words = ["--root_dir", camelyon_miniature, "--model", f"clip:{tiny_tower}", *SMALL, "--algorithm", algorithm]
    words += ["--additional_train_transform", "none", "--log_dir", "logs"]
    assert run(examples / "run_expt.py", *words).status == 0
    before = weights_of(tmp_path / "logs")
    finished = run(examples / "run_expt.py", *words, "--n_epochs", "3", "--resume", "--lr", "0")
    assert finished.status == 0, finished.output
    assert pd.read_csv(tmp_path / "logs" / "val_eval.csv")["epoch"].tolist() == [0, 1, 2]
    after = weights_of(tmp_path / "logs")
    assert all(torch.equal(value, after[name]) for name, value in before.items())


@pytest.mark.parametrize(
    ("model", "words", "line"),
    [
        ("clip-vit-large-patch14", (), "say where its weights come from. --model_kwargs pretrained=openai lets"),
        ("clip:ViT-B-33", ("--model_kwargs", "pretrained=False"), "(did you mean 'ViT-B-32'?)"),
        ("clip:NAME", ("--model_kwargs", "pretrained=False"), "put one of open_clip's names in the place of NAME"),
        ("clip:ViT-S-32", ("--model_kwargs", "weights=none.pt"), "none.pt: there is no such file"),
        ("clip:ViT-S-32", ("--model_kwargs", "pretrained=False", "normalization=clop"), "(did you mean 'clip'?)"),
        ("clip:ViT-S-32", ("--model_kwargs", "pretrained=False", "colour=red"), "keyword argument 'colour'"),
    ],
)
def test_mistakes_end_in_one_line(
    model: str, words: tuple[str, ...], line: str, run: Callable[..., Any], examples: Path, camelyon_miniature: Path
) -> None:
    flags = ["--root_dir", camelyon_miniature, *WITHOUT_WEIGHTS, "--algorithm", "ERM", "--model", model, *words]
    for command, how in (((examples / "run_expt.py",), "script"), (("wilds-targeted", "run"), "command")):
        builtin = () if how == "script" else ("--runner", "builtin")
        finished = run(*command, *builtin, *flags, "--log_dir", "logs", how=how)
        assert finished.status != 0
        assert line in finished.last_line, finished.output
        assert "Traceback" not in finished.output


@pytest.mark.slow
def test_the_papers_model_takes_steps(
    run: Callable[..., Any], examples: Path, camelyon_miniature: Path, tmp_path: Path
) -> None:
    """ViT-L/14 with random weights at 224 x 224, batches of two, three steps of SGD, by both; with the same result."""
    words = ["--root_dir", camelyon_miniature, *SMALL, "--model", "clip-vit-large-patch14", "--algorithm", "ERM"]
    words += ["--transform", "stain_color_jitter", "--n_epochs", "1", "--batch_size", "2", "--frac", "0.05"]
    ours = run("wilds-targeted", "run", "--runner", "builtin", *words, "--log_dir", "ours", how="command")
    assert ours.status == 0, ours.output
    theirs = run(examples / "run_expt.py", *words, "--log_dir", "theirs")
    assert theirs.status == 0, theirs.output
    assert len(pd.read_csv(tmp_path / "ours" / "train_algo.csv")) == 1
    check_same(tmp_path / "ours", tmp_path / "theirs")
    print(f"runner {ours.seconds:.0f} s, script {theirs.seconds:.0f} s")
