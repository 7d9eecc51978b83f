"""Cutout that spares the animals: the paper's bounding-box-aware version, for iWildCam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wilds_targeted import Kind, TransformSpec, hookimpl
from wilds_targeted.annotations.iwildcam import ANNOTATIONS, MIN_CONFIDENCE

if TYPE_CHECKING:
    from wilds_targeted.annotations.iwildcam import AnnotatedForegrounds
    from wilds_targeted.augmentations.cutout import Cutout
    from wilds_targeted.foreground import Box


@hookimpl
def register_transforms() -> list[TransformSpec]:
    """One name."""
    return [
        TransformSpec(
            name="cutout_bbox",
            build=build_cutout_bbox,
            kind=Kind.GENERIC,
            randomizes="which part of the picture is visible (noise)",
            preserves="everything outside of a grey square; where three draws allow it, at least half of each animal",
            summary="Cut a grey square out of the picture that hides at most half of an animal's box.",
            datasets=("iwildcam",),
            parameters=(MIN_CONFIDENCE, ANNOTATIONS),
            paper="appendix on hyperparameters: Cutout, bounding-box-aware version",
        )
    ]


def build_cutout_bbox(dataset: Any, *, annotations: str | None, min_confidence: float) -> Cutout:
    """Animals: those of the annotations; an image of which nothing is known gets plain Cutout."""
    from wilds_targeted.annotations.iwildcam import AnnotatedForegrounds, open_table
    from wilds_targeted.augmentations.cutout import Cutout

    table = open_table(dataset, annotations, "cutout_bbox")
    return Cutout(AnimalBoxes(AnnotatedForegrounds(table, min_confidence)))


class AnimalBoxes:
    """The detections' boxes; where there is no file of detections, the box around each image's mask.

    Args:
        foregrounds: Masks and detections, row by row.
    """

    def __init__(self, foregrounds: AnnotatedForegrounds) -> None:
        self.foregrounds = foregrounds

    def boxes(self, row: int, size: tuple[int, int]) -> list[Box]:
        """The boxes in the image of that row, which has that (width, height)."""
        from wilds_targeted.annotations.masks import pixel_boxes

        table = self.foregrounds.table
        if table.has_detections:
            return pixel_boxes(table.boxes(row, self.foregrounds.min_confidence), size)
        foreground = self.foregrounds.foreground(row, size)
        return [] if foreground is None else [foreground.box]
