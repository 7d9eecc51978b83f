"""For people with a loop of their own: data sets, transforms and subsets from Python."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wilds_targeted.errors import ConfigError, DataError, UnknownNameError, closest, one_line
from wilds_targeted.miniatures import MINIATURES
from wilds_targeted.mixing import Mixer, build_mixer
from wilds_targeted.normalization import IMAGENET, Normalization
from wilds_targeted.pipeline import build_evaluation, build_pipeline, image_base
from wilds_targeted.registry import get_registry
from wilds_targeted.specs import Level

_FROM_DATASET: Any = object()


def get_dataset(name: str, *, root_dir: str | Path, **kwargs: Any) -> Any:
    """A data set by name: a registered one, or one of WILDS's own.

    Args:
        name: Such as ``"iwildcam"``.
        root_dir: The folder that holds the data set's folder.
        **kwargs: ``version``, ``download``, ``split_scheme``, and what the data set takes.

    Returns:
        A `WILDSDataset`.
    """
    import wilds

    from wilds_targeted.mends import mend_wilds

    mend_wilds()
    registered = {known: spec.build for known, spec in get_registry().datasets.items() if spec.build is not None}
    known = list(dict.fromkeys([*wilds.supported_datasets, *registered]))
    if name not in known:
        raise UnknownNameError(
            f"there is no data set {name!r}{closest(name, known)}. Known: {', '.join(known)}."
            f"{get_registry().datasets.why_missing()}"
        )
    build = functools.partial(wilds.get_dataset, name) if name in wilds.supported_datasets else registered[name]
    try:
        return build(root_dir=str(root_dir), **kwargs)
    except OSError as error:
        hint = (
            f" A generated one: `wilds-targeted miniature {name} --root_dir {root_dir}`." if name in MINIATURES else ""
        )
        raise DataError(f"{name} can't be loaded from {root_dir}: {one_line(error)}{hint}") from error
    except KeyError as error:
        raise DataError(f"{name} can't be loaded from {root_dir}: its metadata has no column {error}.") from error
    except (ValueError, TypeError, AssertionError) as error:  # what WILDS says to options that it does not know
        raise ConfigError(f"{name} can't be made with {kwargs}: {one_line(error)}") from error


def build_transform(
    name: str,
    dataset: Any,
    *,
    is_training: bool = True,
    p: float = 1.0,
    target_resolution: Sequence[int] | None = _FROM_DATASET,
    base: Callable[[Any], Any] | None = _FROM_DATASET,
    normalization: Normalization = IMAGENET,
    **parameters: Any,
) -> Callable[[Any], Any] | None:
    """A registered transform, ready for `get_subset`.

    Args:
        name: Registered name, such as ``"copypaste_samey"``.
        dataset: The full `WILDSDataset`.
        is_training: False gives the base steps only: evaluation is never augmented (a diagnostic applies there, too).
        p: The probability with which the augmentation is applied to an example.
        target_resolution: (height, width) of the base steps' resizing; the data set's own by default, None for none.
        base: Steps of your own instead of WILDS's ``image_base``; None for none.
        normalization: Mean and standard deviation of the base steps; `wilds_targeted.normalization` has CLIP's.
        **parameters: The transform's parameters; ``wilds-targeted plugins show NAME`` lists them.
    """
    spec = get_registry().transforms.find(name)
    if spec.level is Level.BATCH and is_training:
        warnings.warn(
            f"build_transform({name!r}) makes the loader's part, which mixes nothing; batches are mixed by what "
            f"build_batch_transform makes",
            stacklevel=2,
        )
    traits = get_registry().datasets.get(dataset.dataset_name)
    if base is _FROM_DATASET:
        if target_resolution is _FROM_DATASET:
            target_resolution = traits.defaults.get("target_resolution") if traits else None
        base = image_base(dataset, target_resolution, normalization)
    if not is_training:
        return build_evaluation([spec.name], dataset, base, parameters)
    return build_pipeline([spec.name], dataset, base, p, parameters)


def build_batch_transform(name: str, dataset: Any, *, p: float = 1.0, **parameters: Any) -> Mixer:
    """A registered transform of batches (``mixup``, ``cutmix``), for the training step of a loop of your own.

    ``mixed = mixer(Batch(x, y, metadata))`` gives None with probability 1 - p. Else it gives the mixed inputs, each
    example's partner and the share of its own label: train on ``share * loss(outputs, y) + (1 - share) *
    loss(outputs, y[partner])``. The flip that accompanies it on some data sets is the loader's part, which
    `build_transform` makes.

    Args:
        name: Registered name, such as ``"mixup"``.
        dataset: The full `WILDSDataset`.
        p: The probability with which a batch is mixed.
        **parameters: The transform's parameters; ``wilds-targeted plugins show NAME`` lists them.
    """
    spec = get_registry().transforms.find(name)
    mixer = build_mixer([spec.name], dataset, p, parameters)
    if mixer is None:
        raise ConfigError(f"transform {name!r} works on examples: use build_transform.")
    return mixer


def get_subset(dataset: Any, split: str, *, transform: Callable[[Any], Any] | None = None, frac: float = 1.0) -> Any:
    """A split of the data set, for `wilds.common.data_loaders`; transforms that ask for it get an `Example`.

    Args:
        dataset: The full `WILDSDataset`.
        split: Such as ``"train"``.
        transform: From `build_transform`, or any function of ``x``.
        frac: The fraction of the split to draw at random.
    """
    from wilds_targeted.subset import hand_over_examples

    if split not in dataset.split_dict:
        raise DataError(f"{dataset.dataset_name} has no split {split!r}. Its splits: {', '.join(dataset.split_dict)}.")
    return hand_over_examples(dataset.get_subset(split, frac=frac, transform=transform))
