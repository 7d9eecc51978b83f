"""Everything that a run needs to go on exactly where it was, in one file that is replaced whole."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wilds_targeted.algorithms.optimization import LENGTH_FACTORS
from wilds_targeted.errors import ConfigError, DataError, RunError
from wilds_targeted.models.weights import read_state
from wilds_targeted.runner.outputs import save

STATE_FILE = "resume_state.pt"
_FORMAT = 1
_NOTHING_YET = {"format": _FORMAT, "is_new": True}

_FREE = ("root_dir", "log_dir", "resume", "device", "progress_bar", "download", "checkpoint_every", "n_epochs")
"""Settings that may differ when a run goes on: what is computed stays the same."""


def capture_randomness() -> dict[str, Any]:
    """The states of all global generators, as plain data and tensors."""
    name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    version, numbers, python_gauss = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": [name, torch.from_numpy(np.asarray(keys).astype(np.int64)), position, has_gauss, gauss],
        "python": [version, list(numbers), python_gauss],
    }


def restore_randomness(state: dict[str, Any]) -> None:
    """Set all global generators to what was captured."""
    torch.set_rng_state(state["torch"].cpu())
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all([each.cpu() for each in state["cuda"]])
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.cpu().numpy().astype(np.uint32), *rest))
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))


def seed_everything(seed: int) -> None:
    """Start all global generators from one seed, in WILDS's manner."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True


@dataclass
class Position:
    """Where a run is: which epoch, which of its phases (training, then one split after the other), which batch.

    Args:
        epoch: From 0.
        phase: From 0, the training.
        batches: How many of the phase's batches are done.
        randomness: The generators when the phase began; batches can be found again from there.
        collected: Labels, predictions and metadata of the phase's batches so far.
        is_best: Whether this epoch is the best so far; known after its validation.
        best_val_metric: The best value of the validation metric so far.
    """

    epoch: int = 0
    phase: int = 0
    batches: int = 0
    randomness: dict[str, Any] = field(default_factory=dict)
    collected: dict[str, list[Any]] = field(default_factory=dict)
    is_best: bool = False
    best_val_metric: float | None = None

    def begin(self) -> None:
        """Begin the phase."""
        self.randomness = capture_randomness()
        self.collected = {"y_true": [], "y_pred": [], "metadata": []}

    def next_phase(self) -> None:
        """The phase is over."""
        self.phase, self.batches, self.randomness, self.collected = self.phase + 1, 0, {}, {}

    def next_epoch(self) -> None:
        """The epoch is over."""
        self.next_phase()
        self.epoch, self.phase, self.is_best = self.epoch + 1, 0, False


@dataclass
class RunState:
    """What the file holds.

    Args:
        settings: The configuration, in words.
        position: Where the run is.
        randomness: The generators now.
        weights: The algorithm's ``state_dict``.
        training: Its ``training_state``.
        log_lengths: How long each log was.
        truncated: Rows of truncated images found so far.
    """

    settings: dict[str, str]
    position: Position
    randomness: dict[str, Any]
    weights: dict[str, Any]
    training: dict[str, Any]
    log_lengths: dict[str, int]
    truncated: list[int]

    def save(self, folder: Path) -> None:
        """Replace the file; a state that is beyond repair is refused, so that the last good one stands."""
        for name, value in self.weights.items():
            if isinstance(value, torch.Tensor) and value.is_floating_point() and not torch.isfinite(value).all():
                raise RunError(f"the weights {name!r} are no longer finite {self.where()}. {advice(folder)}")
        contents = {item.name: getattr(self, item.name) for item in fields(self)}
        contents["position"] = {item.name: getattr(self.position, item.name) for item in fields(Position)}
        save({"format": _FORMAT, **contents}, folder / STATE_FILE)

    def where(self) -> str:
        """The position in words."""
        return f"in epoch {self.position.epoch}, after batch {self.position.batches}"


def load_state(folder: Path) -> RunState | None:
    """The saved state of the run in that folder; None where there is none."""
    path = folder / STATE_FILE
    if not path.is_file():
        models = sorted(folder.glob("*_model.pth"))
        if models:
            raise DataError(
                f"{folder} has models ({models[0].name}, …) but no {STATE_FILE}: they were written by WILDS's own "
                f"script, or by a run that can't be resumed, and hold weights only. Start a run from them with "
                f"--pretrained_model_path, or go on with --runner wilds."
            )
        return None
    contents = read_state(str(path))
    if contents == _NOTHING_YET:
        return None
    try:
        if contents.pop("format") != _FORMAT:
            raise KeyError
        return RunState(**{**contents, "position": Position(**contents["position"])})
    except (KeyError, TypeError):
        raise DataError(
            f"{path} was written by another version of wilds-targeted. Start anew, without --resume."
        ) from None


def forget_state(folder: Path) -> None:
    """Replace the state of an earlier run, whose logs are about to be overwritten; there is none of the new run yet."""
    save(_NOTHING_YET, folder / STATE_FILE)


def describe_settings(config: Any) -> dict[str, str]:
    """The configuration in words, without what may change when a run goes on."""
    settings = {name: str(value) for name, value in sorted(vars(config).items()) if name not in _FREE}
    if config.scheduler in LENGTH_FACTORS:
        settings["n_epochs"] = str(config.n_epochs)
    return settings


def check_settings(saved: dict[str, str], config: Any) -> None:
    """Refuse to go on with other settings than a run began with: its result would be nobody's."""
    now = describe_settings(config)
    for name in sorted({*saved, *now}):
        if saved.get(name) != now.get(name):
            raise ConfigError(
                f"--resume: the run in {config.log_dir} began with {name} = {saved.get(name)}, not {now.get(name)}. "
                f"Give the same settings, or another --log_dir."
            )


def advice(folder: Path) -> str:
    """What to do when training went astray."""
    return (
        f"The last good state stands in {folder / STATE_FILE}. Try a lower --lr or --max_grad_norm 1, with another "
        f"--log_dir."
    )
