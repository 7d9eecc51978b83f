"""Mixing whole batches around ERM, in a WILDS checkout and in the built-in runner alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from wilds_targeted.augmentation import BatchAugmentation, Mixed
from wilds_targeted.choice import chosen_transforms
from wilds_targeted.errors import ConfigError, DataError
from wilds_targeted.example import Batch
from wilds_targeted.pipeline import build_augmentations
from wilds_targeted.randomness import ExampleGenerator
from wilds_targeted.registry import get_registry
from wilds_targeted.specs import Level

_PARTNERS_LABEL = "partners_y_true"
_SHARE = "own_share"


class Mixer:
    """Mixes training batches: one coin a batch, and one 63-bit draw from torch's global generator for each.

    Args:
        augmentation: How a batch is mixed.
        p: The probability with which it is.
    """

    def __init__(self, augmentation: BatchAugmentation, p: float = 1.0) -> None:
        self.augmentation = augmentation
        self.p = p
        self._generator = ExampleGenerator()

    def __call__(self, batch: Batch) -> Mixed | None:
        """The mixed batch; None where the coin says to leave it as it is."""
        if not isinstance(batch.x, torch.Tensor) or batch.x.ndim < 2 or not batch.x.is_floating_point():
            raise DataError(
                f"{type(self.augmentation).__name__} mixes batches of pictures as tensors; this data set gives "
                f"{_describe(batch.x)}."
            )
        rng = self._generator.restart()
        tossed = rng.random() < self.p
        return self.augmentation(batch, rng) if tossed else None


def _describe(x: Any) -> str:
    return f"a tensor {tuple(x.shape)} of {x.dtype}" if isinstance(x, torch.Tensor) else f"a {type(x).__name__}"


def build_mixer(
    names: Sequence[str], dataset: Any, p: float = 1.0, parameters: Mapping[str, object] | None = None
) -> Mixer | None:
    """The mixer among the registered transforms of these names; None where none works on batches."""
    found = build_augmentations(names, dataset, p, parameters, lambda spec: spec.level is Level.BATCH)
    if not found:
        return None
    if not dataset.is_classification:
        mixing = next(name for name in names if get_registry().transforms[name].level is Level.BATCH)
        raise ConfigError(f"transform {mixing!r} mixes class labels, and {dataset.dataset_name} has none.")
    return Mixer(found[0], p)


def mix_as_configured(algorithm: Any, config: Any, dataset: Any) -> Any:
    """The algorithm, its training batches mixed if the configuration asks for it."""
    names = chosen_transforms(config.transform, config.additional_train_transform, get_registry())
    mixer = build_mixer(names, dataset, config.transform_p, config.transform_kwargs)
    if mixer is not None:
        mix_training_batches(algorithm, mixer)
    return algorithm


def mix_training_batches(algorithm: Any, mixer: Mixer) -> None:
    """Let an ERM, WILDS's or ours, train on mixed batches.

    The objective is the algorithm's own, averaged over both labels with the share as the weight. The results keep the
    true labels, so that what is logged of training batches stays what it was.
    """
    process_batch, objective = algorithm.process_batch, algorithm.objective

    def process_mixed_batch(batch: Any, *more: Any) -> Any:
        x, y, metadata = batch
        mixed = None
        if algorithm.is_training:
            x = x.to(algorithm.device) if isinstance(x, torch.Tensor) else x
            mixed = mixer(Batch(x, y, metadata))
        if mixed is None:
            return process_batch((x, y, metadata), *more)
        results = process_batch((mixed.x, y, metadata), *more)
        results[_PARTNERS_LABEL] = results["y_true"][mixed.partner.to(results["y_true"].device)]
        results[_SHARE] = mixed.share
        return results

    def mixed_objective(results: dict[str, Any]) -> Any:
        own = objective(results)
        if _SHARE not in results:
            return own
        partners = objective({**results, "y_true": results[_PARTNERS_LABEL]})
        return results[_SHARE] * own + (1 - results[_SHARE]) * partners

    algorithm.process_batch = process_mixed_batch
    algorithm.objective = mixed_objective
