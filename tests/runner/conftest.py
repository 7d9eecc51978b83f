"""Small runs of the built-in runner, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from wilds_targeted.runner.run import run as run_builtin

SMALL = (
    "--dataset iwildcam --model miniature-cnn --target_resolution 16 16 --n_epochs 2 --batch_size 16 "
    "--loader_kwargs num_workers=0 --frac 0.5 --progress_bar false"
).split()

Train = Callable[..., Path]


@pytest.fixture
def train(miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """Train in this process; gives the log folder. Flags of the small run may be given again.

    Runs that are compared stand in folders of their own and have the same `--log_dir`, which the log tells.
    """

    def train(*flags: str, name: str = "run", root: Path = miniature) -> Path:
        algorithm = () if "--algorithm" in flags else ("--algorithm", "ERM")
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / name)
        try:
            run_builtin(["--root_dir", str(root), "--log_dir", "logs", *SMALL, *algorithm, *flags])
        finally:
            torch.set_grad_enabled(True)
        return tmp_path / name / "logs"

    return train
