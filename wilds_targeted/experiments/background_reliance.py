"""How far a trained model leans on the object and on the background: the Background Challenge of Xiao et al. (2020)."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from wilds_targeted.annotations.iwildcam import labels
from wilds_targeted.augmentations.background_challenge import Version, show
from wilds_targeted.augmentations.copy_paste import ForegroundSource
from wilds_targeted.augmentations.pools import EMPTY
from wilds_targeted.choice import NO_ADDITIONAL_TRANSFORM, WILDS_ADDITIONAL_TRANSFORMS, chosen_transforms
from wilds_targeted.errors import ConfigError, DataError
from wilds_targeted.models.torchvision_models import refuse_unasked_download
from wilds_targeted.registry import get_registry
from wilds_targeted.runner import run as runner
from wilds_targeted.runner.data import Data, load_data
from wilds_targeted.runner.defaults import complete
from wilds_targeted.runner.flags import parse
from wilds_targeted.runner.progress import show_progress
from wilds_targeted.runner.reading import Reader
from wilds_targeted.runner.state import seed_everything
from wilds_targeted.runner.supported import OUTPUT_FUNCTIONS
from wilds_targeted.runner.transforms import Transform, build_transform

ORIGINAL = "original"
VERSIONS = (ORIGINAL, *Version)
DEFAULT_SPLITS = ("id_test", "test")


class Scores(NamedTuple):
    """How a model does on one version of some pictures: shares from 0 to 1.

    Args:
        accuracy: Answered rightly.
        macro_f1: The mean over the classes that are there.
        empty: Answered "empty".
    """

    accuracy: float
    macro_f1: float
    empty: float


@dataclass(frozen=True)
class SplitReliance:
    """How a model does on the versions of one split's pictures.

    Args:
        split: Its key.
        rows: How many pictures with an animal of a known place were shown.
        animals: How many pictures with an animal there are.
        chance: The share of the most frequent class among those shown.
        scores: For each of `VERSIONS`.
    """

    split: str
    rows: int
    animals: int
    chance: float
    scores: Mapping[str, Scores]


@dataclass(frozen=True)
class Reliance:
    """What was found out about a model.

    Args:
        model: Its file.
        epoch: The epoch that it is of.
        splits: What was evaluated, in this order.
    """

    model: Path
    epoch: int
    splits: tuple[SplitReliance, ...]


def measure_reliance(
    arguments: Sequence[str], *, annotations: str | None = None, min_confidence: float | None = None
) -> Reliance:
    """Evaluate a saved model on four versions of the pictures whose foreground is known. Writes nothing.

    Args:
        arguments: The flags with which the model was trained; ``--eval_splits`` and ``--eval_epoch`` choose.
        annotations: The folder of masks and boxes; by default that of the run, else under the root directory.
        min_confidence: Detections below it do not count; by default the run's, else the transforms' own default.

    Raises:
        WildsTargetedError: Something is wrong with flags, data, annotations or the model; the message tells what to do.
    """
    given = parse(arguments)
    _check_dataset(given.dataset)
    given.eval_only, given.resume = True, False  # the flags of the training run may say otherwise
    if given.additional_train_transform in (None, *WILDS_ADDITIONAL_TRANSFORMS):
        # WILDS's own, which it sets for some algorithms unasked: the runner would refuse it, and here it does nothing.
        given.additional_train_transform = NO_ADDITIONAL_TRANSFORM
    config = complete(given)
    parameters = _parameters(config, {"annotations": annotations, "min_confidence": min_confidence})
    refuse_unasked_download(config, given.model_kwargs)
    runner.choose_device(config)
    path = runner.saved_model(config, config.dataset)
    _check_model(path)
    may_skip = config.on_bad_example == "skip"
    _leave_only_the_base(config)
    with_gradients = torch.is_grad_enabled()
    try:
        seed_everything(config.seed)
        data = load_data(config)
        challenge: Any = get_registry().transforms[Version.ONLY_FG].build(data.dataset, **parameters)
        base: Any = build_transform(config, data.dataset, is_training=False)
        studio = _Studio(data.reader, challenge.foregrounds, base, may_skip)
        algorithm = runner.build_algorithm(config, data)
        epoch = runner.load_saved_model(config, path, algorithm)
        torch.set_grad_enabled(False)
        algorithm.eval()
        keys = config.eval_splits or [key for key in DEFAULT_SPLITS if key in data.splits]
        splits = [_measure_split(config, data, key, algorithm, studio) for key in keys]
    except (OSError, RuntimeError, MemoryError) as error:
        raise runner.explained(error, path.parent, "Nothing was written: call it again") from error
    finally:
        torch.set_grad_enabled(with_gradients)
    return Reliance(path, epoch, tuple(splits))


def _check_dataset(name: str) -> None:
    spec = get_registry().transforms[Version.ONLY_FG]
    if not spec.serves(name):
        raise ConfigError(f"background-reliance: {name} knows no foreground; it serves {', '.join(spec.datasets)}.")


def _parameters(config: Namespace, given: Mapping[str, object]) -> dict[str, Any]:
    """The diagnostics' parameters: as given here, else as the run has them, else their defaults."""
    spec = get_registry().transforms[Version.ONLY_FG]
    known = {parameter.name for parameter in spec.parameters}
    of_the_run = {name: value for name, value in config.transform_kwargs.items() if name in known}
    return spec.check({**of_the_run, **{name: value for name, value in given.items() if value is not None}})


def _check_model(path: Path) -> None:
    if path.is_file():
        return
    others = sorted(other.name for other in path.parent.glob("*_model.pth"))
    there = f"Models there: {', '.join(others)}." if others else "There is no model in that folder."
    raise DataError(
        f"{path}: there is no such model. {there} Give --log_dir, --seed and --dataset of the run that wrote it (and "
        f"--eval_epoch for another epoch than the best), or train first with `wilds-targeted run`."
    )


def _leave_only_the_base(config: Namespace) -> None:
    """Take out of the configuration what serves training only, or would write to the log folder."""
    registry = get_registry()
    if config.transform in chosen_transforms(config.transform, None, registry):
        config.transform = registry.datasets[config.dataset].defaults.get("transform")
    config.additional_train_transform = None
    config.transform_kwargs = {}
    config.on_bad_example = "stop"  # skip would list what it finds; here such pictures are left out one by one
    config.pretrained_model_path = None  # the saved model replaces all weights at once


class _Studio(NamedTuple):
    """What makes the versions of a picture.

    Args:
        reader: Reads it.
        foregrounds: Where the objects are.
        base: The steps before the model.
        may_skip: Whether a picture that can't be read is left out; else it is an error.
    """

    reader: Reader
    foregrounds: ForegroundSource
    base: Transform
    may_skip: bool


class _Pictures(Dataset[Any]):
    """Each picture in all its versions, read once; None where nobody knows the object, or the picture is skipped."""

    def __init__(self, rows: NDArray[np.int64], studio: _Studio) -> None:
        self.rows = rows
        self.studio = studio

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, position: int) -> Any:
        row = int(self.rows[position])
        try:
            example = self.studio.reader.read(row)
        except DataError as error:
            if self.studio.may_skip:
                return None
            raise DataError(f"{error} Or leave such examples out: --on_bad_example skip.") from error
        foreground = self.studio.foregrounds.foreground(row, example.x.size)
        if foreground is None:
            return None
        versions = [example.x, *(show(example.x, foreground, version) for version in Version)]
        return torch.stack([self.studio.base(version) for version in versions]), example.y, example.metadata

    @staticmethod
    def collate(pictures: list[Any]) -> Any:
        """A batch of those that are not left out; None where all are."""
        left = [picture for picture in pictures if picture is not None]
        return torch.utils.data.default_collate(left) if left else None


def _measure_split(config: Namespace, data: Data, key: str, algorithm: Any, studio: _Studio) -> SplitReliance:
    from wilds.common.data_loaders import get_eval_loader

    rows = np.asarray(data.splits[key].subset.indices, dtype=np.int64)
    rows = rows[labels(data.dataset)[rows] != EMPTY]
    kwargs = {**config.loader_kwargs, **({} if torch.cuda.is_available() else {"pin_memory": False})}
    loader = get_eval_loader(config.eval_loader, _Pictures(rows, studio), config.batch_size, **kwargs)
    to_predictions = OUTPUT_FUNCTIONS[config.process_outputs_function]
    y_true: list[Any] = []
    y_pred: dict[str, list[Any]] = {version: [] for version in VERSIONS}
    for batch in show_progress(loader, len(loader), f"four versions of {key}", "batch", config.progress_bar):
        if batch is None:
            continue
        x, y, metadata = batch
        y_true.append(y)
        for number, version in enumerate(VERSIONS):
            outputs = algorithm.evaluate((x[:, number], y, metadata))["y_pred"]
            y_pred[version].append(to_predictions(outputs))
    if not y_true:
        raise DataError(
            f"the split {key!r} has no animal whose place in the picture is known ({len(rows)} pictures with an "
            f"animal). Try a lower --min_confidence, other --annotations or other --eval_splits."
        )
    truth = torch.cat(y_true).numpy()
    scores = {version: score(truth, torch.cat(y_pred[version]).numpy()) for version in VERSIONS}
    chance = float(np.bincount(truth).max() / len(truth))
    return SplitReliance(key, len(truth), len(rows), chance, scores)


def score(y_true: NDArray[np.int64], y_pred: NDArray[np.int64]) -> Scores:
    """Accuracy, macro F1 over the classes that are there, and the share of "empty" among the answers.

    >>> score(np.array([1, 1, 2, 2]), np.array([1, 0, 2, 1]))
    Scores(accuracy=0.5, macro_f1=0.5833333333333333, empty=0.25)
    """
    right = y_true == y_pred
    classes = np.unique(y_true)
    f1 = [2 * np.sum(right & (y_true == each)) / (np.sum(y_true == each) + np.sum(y_pred == each)) for each in classes]
    return Scores(float(right.mean()), float(np.mean(f1)), float(np.mean(y_pred == EMPTY)))
