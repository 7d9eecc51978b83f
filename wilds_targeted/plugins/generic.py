"""Generic augmentations: those of single pictures, and those that mix the pictures of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wilds_targeted import Kind, Level, Parameter, TransformSpec, hookimpl

if TYPE_CHECKING:
    from wilds_targeted.augmentations.color_jitter import ColorJitter
    from wilds_targeted.augmentations.cutmix import CutMix
    from wilds_targeted.augmentations.cutout import Cutout
    from wilds_targeted.augmentations.mixup import MixUp
    from wilds_targeted.augmentations.rand_augment import RandAugment

_BASELINES = "section 5, generic augmentations, and appendix on hyperparameters"


@hookimpl
def register_transforms() -> list[TransformSpec]:
    """RandAugment, Cutout, colour jitter, MixUp and CutMix."""
    return [
        TransformSpec(
            name="randaugment",
            build=build_rand_augment,
            kind=Kind.GENERIC,
            randomizes="colour, light, sharpness, orientation and position of the whole picture (noise)",
            preserves="what the picture shows: object, habitat and the domain's own detail, but for a square cut out",
            summary="Apply k random operations to the picture, then cut a grey square out.",
            parameters=(Parameter("k", int, 2, "How many operations are applied.", minimum=1, search="k in {1, 2}"),),
            paper=f"{_BASELINES}: RandAugment (Cubuk et al., 2020)",
        ),
        TransformSpec(
            name="cutout",
            build=build_cutout,
            kind=Kind.GENERIC,
            randomizes="which part of the picture is visible (noise)",
            preserves="everything outside of a grey square",
            summary="Cut a grey square out of the picture.",
            paper=f"{_BASELINES}: Cutout (DeVries and Taylor, 2017)",
        ),
        TransformSpec(
            name="color_jitter",
            build=build_color_jitter,
            kind=Kind.GENERIC,
            randomizes="the hue of the whole picture and, if asked for, its saturation",
            preserves="shapes, light and dark",
            summary="Turn the hue of the picture.",
            parameters=(
                Parameter("hue", float, 0.5, "Largest turn of the hue, as a share of a full turn.", 0, 0.5),
                Parameter(
                    "saturation",
                    float,
                    0.0,
                    "How far the saturation's factor may be from 1; the authors' code has 2, the paper speaks of hue.",
                    minimum=0,
                ),
            ),
            paper=f"{_BASELINES}: Color Jitter (BirdCalls)",
        ),
        TransformSpec(
            name="mixup",
            build=build_mixup,
            kind=Kind.GENERIC,
            randomizes="the whole picture, by blending it with another of the batch",
            preserves="a share of everything: object, robust and spurious features alike, and the same of the label",
            summary="Blend the pictures of a batch, and their labels, in pairs.",
            level=Level.BATCH,
            parameters=(_alpha(0.2, "alpha in {0.2, 0.4}"),),
            paper=f"{_BASELINES}: MixUp (Zhang et al., 2018)",
        ),
        TransformSpec(
            name="cutmix",
            build=build_cutmix,
            kind=Kind.GENERIC,
            randomizes="a rectangle of the picture, by pasting another of the batch into it",
            preserves="everything outside of the rectangle, and its share of the label",
            summary="Paste a rectangle of another picture of the batch, and mix the labels by its area.",
            level=Level.BATCH,
            parameters=(_alpha(1.0, "alpha in {0.5, 1.0}"),),
            paper=f"{_BASELINES}: CutMix (Yun et al., 2019)",
        ),
    ]


def _alpha(default: float, search: str) -> Parameter:
    return Parameter(
        "alpha", float, default, "The share of the own picture is Beta(alpha, alpha).", minimum=0.001, search=search
    )


def build_rand_augment(dataset: Any, *, k: int) -> RandAugment:
    """The same for every data set."""
    from wilds_targeted.augmentations.rand_augment import RandAugment

    return RandAugment(k)


def build_cutout(dataset: Any) -> Cutout:
    """The same for every data set."""
    from wilds_targeted.augmentations.cutout import Cutout

    return Cutout()


def build_color_jitter(dataset: Any, *, hue: float, saturation: float) -> ColorJitter:
    """The same for every data set."""
    from wilds_targeted.augmentations.color_jitter import ColorJitter

    return ColorJitter(hue, saturation)


def build_mixup(dataset: Any, *, alpha: float) -> MixUp:
    """The same for every data set."""
    from wilds_targeted.augmentations.mixup import MixUp

    return MixUp(alpha)


def build_cutmix(dataset: Any, *, alpha: float) -> CutMix:
    """The same for every data set."""
    from wilds_targeted.augmentations.cutmix import CutMix

    return CutMix(alpha)
