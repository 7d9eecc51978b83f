"""The files that WILDS's script writes for others: predictions and models, each whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import torch

from wilds_targeted.files import written_whole


def file_prefix(config: Any, dataset_name: str, split: str | None = None) -> Path:
    """What the names of a run's files begin with, such as ``logs/iwildcam_split:val_seed:0_``."""
    of_split = "" if split is None else f"split:{split}_"
    replicate = f"fold:{config.dataset_kwargs['fold']}" if dataset_name == "poverty" else f"seed:{config.seed}"
    return Path(config.log_dir) / f"{dataset_name}_{of_split}{replicate}_"


def model_path(config: Any, dataset_name: str, epoch: int | str) -> Path:
    """The model file of an epoch, or of the epochs called ``best`` and ``last``."""
    return Path(f"{file_prefix(config, dataset_name)}epoch:{epoch}_model.pth")


def save_model(path: Path, algorithm: Any, epoch: int, best_val_metric: float | None) -> None:
    """A model file, as WILDS's script reads and writes them."""
    save({"algorithm": algorithm.state_dict(), "epoch": epoch, "best_val_metric": best_val_metric}, path)


def save_predictions(y_pred: Any, prefix: Path, epoch: int | str) -> None:
    """A line for each example; a tensor file where predictions are no table."""
    stem = f"{prefix}epoch:{epoch}_pred"
    if torch.is_tensor(y_pred):
        with written_whole(f"{stem}.csv") as arriving:
            pd.DataFrame(y_pred.numpy()).to_csv(arriving, index=False, header=False)
    else:
        save(y_pred, Path(f"{stem}.pth"))


def save(value: Any, path: Path) -> None:
    """What `torch.save` writes, whole or not at all."""
    # Through a Python file: torch's own writer reports a full disk as an internal error of its archive format.
    with written_whole(path) as arriving, arriving.open("wb") as file:
        torch.save(value, file)


def epochs_to_keep(config: Any, epoch: int, *, is_best: bool) -> list[int | str]:
    """Under which names this epoch's model and predictions are kept."""
    kept: list[int | str] = []
    if config.save_step is not None and (epoch + 1) % config.save_step == 0:
        kept.append(epoch)
    if config.save_last:
        kept.append("last")
    if config.save_best and is_best:
        kept.append("best")
    return kept
