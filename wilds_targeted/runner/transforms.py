"""WILDS's base transforms for images: what every example goes through before the model sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torchvision import transforms
from torchvision.transforms import functional

from wilds_targeted.choice import chosen_transforms, normalization_of
from wilds_targeted.errors import ConfigError
from wilds_targeted.pipeline import build_evaluation, build_pipeline, image_base, to_normalized_tensor
from wilds_targeted.registry import get_registry

Transform = Callable[[Any], Any]

BASE_TRANSFORMS = ("image_base", "image_resize", "image_resize_and_center_crop", "rxrx1")


def build_transform(config: Any, dataset: Any, *, is_training: bool) -> Transform | None:
    """The transform of a split: the configured augmentations in training, then the base steps."""
    chosen = chosen_transforms(config.transform, config.additional_train_transform, get_registry())
    base_name = config.transform
    if base_name in chosen:
        base_name = get_registry().datasets[config.dataset].defaults.get("transform")
    base = base_transform(base_name, config, dataset, is_training=is_training)
    if not chosen:
        return base
    if not is_training:
        return build_evaluation(chosen, dataset, base, config.transform_kwargs)
    return build_pipeline(chosen, dataset, base, config.transform_p, config.transform_kwargs)


def base_transform(name: str | None, config: Any, dataset: Any, *, is_training: bool) -> Transform | None:
    """One of WILDS's base transforms, by name."""
    if name is None:
        return None
    if name == "image_base":
        return image_base(dataset, config.target_resolution, normalization_of(config, get_registry()))
    if name == "rxrx1":
        return _rxrx1(is_training)
    if dataset.original_resolution is None or config.resize_scale is None:
        raise ConfigError(
            f"--transform {name} needs --resize_scale, and a data set whose images have one size; "
            f"{dataset.dataset_name} has the size {dataset.original_resolution}."
        )
    steps: list[Any] = [transforms.Resize(tuple(int(n * config.resize_scale) for n in dataset.original_resolution))]
    if name == "image_resize_and_center_crop":
        steps.append(transforms.CenterCrop(config.target_resolution or dataset.original_resolution))
    last = to_normalized_tensor(normalization_of(config, get_registry()))
    composed: Transform = transforms.Compose([*steps, *last])
    return composed


def _rxrx1(is_training: bool) -> Transform:
    """Cells have no up and no right: a quarter turn and a flip, then each channel standardized by itself."""
    varied = [QuarterTurn(), transforms.RandomHorizontalFlip()] if is_training else []
    composed: Transform = transforms.Compose([*varied, transforms.ToTensor(), standardize_channels])
    return composed


class QuarterTurn:
    """Turn an image by 0, 90, 180 or 270 degrees."""

    def __call__(self, image: Any) -> Any:
        """The image, turned; each angle equally likely."""
        turns = int(torch.randint(low=0, high=4, size=(1,)))
        return functional.rotate(image, 90 * turns) if turns else image


def standardize_channels(x: torch.Tensor) -> torch.Tensor:
    """Each channel with mean 0 and standard deviation 1; a constant channel becomes 0."""
    mean, deviation = x.mean(dim=(1, 2)), x.std(dim=(1, 2))
    deviation[deviation == 0.0] = 1.0
    standardized: torch.Tensor = functional.normalize(x, mean, deviation)
    return standardized
