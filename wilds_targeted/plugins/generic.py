"""Generic augmentations, which serve any image data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wilds_targeted import Kind, Parameter, TransformSpec, hookimpl

if TYPE_CHECKING:
    from wilds_targeted.augmentations.rand_augment import RandAugment


@hookimpl
def register_transforms() -> list[TransformSpec]:
    """RandAugment."""
    return [
        TransformSpec(
            name="randaugment",
            build=build_rand_augment,
            kind=Kind.GENERIC,
            randomizes="colour, light, sharpness, orientation and position of the whole picture (noise)",
            preserves="what the picture shows: object, habitat and the domain's own detail, but for a square cut out",
            summary="Apply k random operations to the picture, then cut a grey square out.",
            parameters=(Parameter("k", int, 2, "How many operations are applied.", minimum=1, search="k in {1, 2}"),),
            paper="section 5, appendix on hyperparameters: RandAugment (Cubuk et al., 2020)",
        )
    ]


def build_rand_augment(dataset: Any, *, k: int) -> RandAugment:
    """The same for every data set."""
    from wilds_targeted.augmentations.rand_augment import RandAugment

    return RandAugment(k)
