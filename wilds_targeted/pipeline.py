"""From augmentations to what a loader calls: coins, augmentation, flip, then the data set's base steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from PIL import Image

from wilds_targeted.augmentation import Augmentation
from wilds_targeted.choice import check_parameters
from wilds_targeted.example import Example
from wilds_targeted.normalization import IMAGENET, Normalization
from wilds_targeted.randomness import ExampleGenerator
from wilds_targeted.registry import get_registry
from wilds_targeted.specs import Level, TransformSpec


class Pipeline:
    """A training transform: it takes an `Example` and returns what the model sees.

    Each call takes one 63-bit draw from torch's global generator, which the loader seeds per worker, to seed its own
    generator. All the coins come from that one first, so which examples are augmented does not depend on how much
    an augmentation draws.

    Args:
        augmentations: Applied in this order, each with a coin of its own.
        base: The steps that every example takes (crop, resize, tensor, normalization); None for none.
        p: The probability of each augmentation, and of the flip.
        flip: Whether a horizontal flip, with the same probability and a coin of its own, follows.
    """

    wants_example = True
    """Tells `ExampleSubset` to hand over an `Example`, where a plain transform gets ``x``."""

    def __init__(
        self,
        augmentations: Sequence[Augmentation],
        base: Callable[[Any], Any] | None = None,
        p: float = 1.0,
        flip: bool = False,
    ) -> None:
        self.augmentations = tuple(augmentations)
        self.base = base
        self.p = p
        self.flip = flip
        self._generator = ExampleGenerator()

    def __call__(self, example: Example) -> Any:
        """The example, augmented, after the base steps."""
        x = self.augment(example)
        return x if self.base is None else self.base(x)

    def augment(self, example: Example) -> Any:
        """The example's ``x``, augmented, before the base steps."""
        if not isinstance(example, Example):
            raise TypeError(
                f"a registered transform takes an Example, got {type(example).__name__}: make the subset with "
                f"wilds_targeted.get_subset(dataset, split, transform=…)"
            )
        rng = self._generator.restart()
        coins = rng.random(len(self.augmentations) + 1) < self.p
        for augmentation, tossed in zip(self.augmentations, coins, strict=False):
            if tossed:
                x = augmentation(example, rng)
                example = Example(x, example.y, example.metadata, example.index)
        return flip_horizontally(example.x) if self.flip and coins[-1] else example.x

    def __repr__(self) -> str:
        names = ", ".join(type(augmentation).__name__ for augmentation in self.augmentations)
        return f"{type(self).__name__}([{names}], p={self.p}, flip={self.flip}, base={self.base})"


def flip_horizontally(x: Any) -> Any:
    """Left becomes right, for a PIL image or for anything whose last axis is the width."""
    if isinstance(x, Image.Image):
        return x.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return torch.flip(torch.as_tensor(x), dims=(-1,))


def image_base(
    dataset: Any, target_resolution: Sequence[int] | None, normalization: Normalization = IMAGENET
) -> Callable[[Any], Any]:
    """The steps that WILDS calls ``image_base``: centre crop to a square, resize, tensor, normalization.

    WILDS crops only where the data set states an original resolution that is not square; iWildCam states none.
    """
    from torchvision import transforms

    steps: list[Any] = []
    resolution = dataset.original_resolution
    if resolution is not None and min(resolution) != max(resolution):
        steps.append(transforms.CenterCrop(min(resolution)))
    if target_resolution is not None:
        steps.append(transforms.Resize(tuple(target_resolution)))
    pipeline: Callable[[Any], Any] = transforms.Compose([*steps, *to_normalized_tensor(normalization)])
    return pipeline


def to_normalized_tensor(normalization: Normalization) -> list[Callable[[Any], Any]]:
    """The last steps for images: a tensor with mean and standard deviation taken out."""
    from torchvision import transforms

    return [transforms.ToTensor(), transforms.Normalize(*normalization)]


def build_pipeline(
    names: Sequence[str],
    dataset: Any,
    base: Callable[[Any], Any] | None,
    p: float = 1.0,
    parameters: Mapping[str, object] | None = None,
) -> Pipeline:
    """The training transform made of the registered augmentations of these names, in this order.

    Those that work on batches are left to `wilds_targeted.mixing`; the flip that goes with them is made here.

    Args:
        names: Registered names.
        dataset: The full `WILDSDataset`.
        base: The steps after the augmentations.
        p: The transform probability.
        parameters: For the augmentations; each gets those that it knows.
    """
    augmentations = build_augmentations(names, dataset, p, parameters, lambda spec: spec.level is Level.EXAMPLE)
    traits = get_registry().datasets.get(dataset.dataset_name)
    return Pipeline(augmentations, base, p, flip=traits is not None and traits.flip)


def build_evaluation(
    names: Sequence[str],
    dataset: Any,
    base: Callable[[Any], Any] | None,
    parameters: Mapping[str, object] | None = None,
) -> Callable[[Any], Any] | None:
    """The evaluation transform of a run with these names: the base steps, after the diagnostics if there are any.

    Args:
        names: Registered names.
        dataset: The full `WILDSDataset`.
        base: The steps that every example takes.
        parameters: For the transforms; each gets those that it knows.
    """
    diagnostics = build_augmentations(names, dataset, 1.0, parameters, lambda spec: spec.in_evaluation)
    return Pipeline(diagnostics, base) if diagnostics else base


def build_augmentations(
    names: Sequence[str],
    dataset: Any,
    p: float,
    parameters: Mapping[str, object] | None,
    is_wanted: Callable[[TransformSpec], bool],
) -> list[Any]:
    """The augmentations of these names that are wanted, built with their checked parameters."""
    specs = [get_registry().transforms.find(name) for name in names]
    checked = check_parameters(specs, dataset.dataset_name, p, parameters or {})
    return [spec.build(dataset, **values) for spec, values in zip(specs, checked, strict=True) if is_wanted(spec)]
