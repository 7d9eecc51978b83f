"""Camelyon17: Stain Color Jitter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wilds_targeted import Kind, Parameter, TransformSpec, hookimpl

if TYPE_CHECKING:
    from wilds_targeted.augmentations.stain_color_jitter import StainColorJitter


@hookimpl
def register_transforms() -> list[TransformSpec]:
    """Stain Color Jitter."""
    return [
        TransformSpec(
            name="stain_color_jitter",
            build=build_stain_color_jitter,
            kind=Kind.TARGETED,
            randomizes="the stain's colour (spurious)",
            preserves="cell and tissue morphology (object), with what the cancer's stage makes of it (robust)",
            summary="Multiply and shift how strongly hematoxylin, eosin and DAB colour the patch.",
            datasets=("camelyon17",),
            parameters=(
                Parameter(
                    "sigma",
                    float,
                    0.1,
                    "Strength: a stain's factor is within 1 ± sigma, its shift within ± sigma (optical density).",
                    minimum=0,
                    maximum=1,
                    search="augmentation strength in [0.05, 0.1]",
                ),
                Parameter(
                    "white_level",
                    float,
                    1.0,
                    "The pixel value of unstained glass: 1 for the paper's form, 255 for the textbook's.",
                    minimum=1,
                    maximum=255,
                ),
            ),
            paper="section 3.1, appendix B.2, Algorithm 2: Stain Color Jitter (Tellez et al., 2018)",
        )
    ]


def build_stain_color_jitter(dataset: Any, *, sigma: float, white_level: float) -> StainColorJitter:
    """It needs nothing of the data set but its pictures."""
    from wilds_targeted.augmentations.stain_color_jitter import StainColorJitter

    return StainColorJitter(sigma, white_level)
