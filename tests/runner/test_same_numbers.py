"""The built-in runner's files equal those of WILDS's script: the stand-in's, and a real one's where there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

STANDIN = Path(__file__).parent.parent / "standin_examples"
TINY = (
    "--dataset iwildcam --model resnet18 --model_kwargs pretrained=False --target_resolution 32 32 --n_epochs 2 "
    "--batch_size 16 --loader_kwargs num_workers=0 pin_memory=False --frac 0.4"
).split()
INVARIANT = "--additional_train_transform none"
CASES = {
    "ERM": "--algorithm ERM",
    "ERM-transform": "--algorithm ERM --transform copypaste_samey --transform_p 0.7",
    "ERM-workers": "--algorithm ERM --transform copypaste_all --loader_kwargs num_workers=2 pin_memory=False --seed 3",
    "ERM-mixup": "--algorithm ERM --transform mixup --transform_p 0.7 --transform_kwargs alpha=1",
    "ERM-cutmix": "--algorithm ERM --transform copypaste_samey --additional_train_transform cutmix --transform_p 0.7",
    "deepCORAL": f"--algorithm deepCORAL {INVARIANT}",
    "IRM": f"--algorithm IRM --irm_penalty_anneal_iters 5 {INVARIANT}",
    "DANN": f"--algorithm DANN {INVARIANT} --seed 1",
    "groupDRO": f"--algorithm groupDRO {INVARIANT} --no_group_logging false",
    "CDAN": f"--algorithm CDAN {INVARIANT} --cdan_penalty_weight 0.5 --lr 1e-3",
    "schedule": "--algorithm ERM --optimizer AdamW --weight_decay 0.1 --scheduler linear_schedule_with_warmup "
    "--scheduler_kwargs num_warmup_steps=3 --max_grad_norm 1 --gradient_accumulation_steps 2 --log_every 2 "
    "--save_step 1",
    "densenet": "--algorithm ERM --model densenet121 --n_epochs 1 --frac 0.2 --optimizer SGD "
    "--optimizer_kwargs momentum=0.9 --evaluate_all_splits false --eval_splits test",
}
IN_STANDIN = ("ERM", "ERM-transform", "ERM-mixup", "CDAN")
"""What is worth the time on the stand-in, of what it has algorithms for; its deepCORAL's last bits differ."""


@pytest.mark.parametrize("case", CASES)
def test_the_files_are_wilds_own(case: str, run: Callable, examples: Path, miniature: Path, tmp_path: Path) -> None:
    if examples == STANDIN and case not in IN_STANDIN:
        pytest.skip("the stand-in has no such algorithm or option")
    flags = ["--root_dir", miniature, *TINY, *CASES[case].split()]
    theirs = run(examples / "run_expt.py", *flags, "--log_dir", "theirs")
    assert theirs.status == 0, theirs.output
    ours = run("wilds-targeted", "run", "--runner", "builtin", *flags, "--log_dir", "ours", how="command")
    assert ours.status == 0, ours.output
    # The stand-in promises WILDS's predictions and weights, not its tables and its log.
    names = {path.name for path in (tmp_path / "theirs").iterdir()}
    assert {path.name for path in (tmp_path / "ours").iterdir()} == names | {"resume_state.pt", "versions.json"}
    for name in names:
        one, other = (tmp_path / folder / name for folder in ("theirs", "ours"))
        if name.endswith("_pred.csv") or (name.endswith(".csv") and examples != STANDIN):
            assert one.read_bytes() == other.read_bytes(), name
        elif name.endswith(".pth"):
            assert_same_weights(one, other)
    if examples != STANDIN:
        assert body(tmp_path / "theirs" / "log.txt") == body(tmp_path / "ours" / "log.txt")


def assert_same_weights(one: Path, other: Path) -> None:
    theirs, ours = (torch.load(path, weights_only=True) for path in (one, other))
    assert theirs["epoch"] == ours["epoch"]
    assert theirs["best_val_metric"] == ours["best_val_metric"]
    assert list(theirs["algorithm"]) == list(ours["algorithm"])
    for name, value in theirs["algorithm"].items():
        assert torch.equal(value, ours["algorithm"][name]), name


def body(log: Path) -> str:
    """A log without the configuration, which tells of different flags, and the notes on accumulation and annealing."""
    text = log.read_text()
    text = text[text.index("Train data...") :]
    return "\n".join(line for line in text.splitlines() if "accumulation" not in line and "loaders have" not in line)
