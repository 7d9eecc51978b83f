"""Cutout that spares the animals: the paper's bounding-box-aware version, for iWildCam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wilds_targeted import Kind, TransformSpec, hookimpl
from wilds_targeted.annotations.iwildcam import ANNOTATIONS, MIN_CONFIDENCE

if TYPE_CHECKING:
    from wilds_targeted.annotations.table import AnnotationTable
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
    from wilds_targeted.annotations.iwildcam import open_table
    from wilds_targeted.augmentations.cutout import Cutout

    return Cutout(AnimalBoxes(open_table(dataset, annotations, "cutout_bbox"), min_confidence))


class AnimalBoxes:
    """The detections' boxes; where there is no file of detections, a box around each instance of the mask.

    Args:
        table: Masks and detections, row by row.
        min_confidence: Detections below it do not count.
    """

    def __init__(self, table: AnnotationTable, min_confidence: float) -> None:
        self.table = table
        self.min_confidence = min_confidence

    def boxes(self, row: int, size: tuple[int, int]) -> list[Box]:
        """The boxes in the image of that row, which has that (width, height)."""
        from wilds_targeted.annotations.masks import instance_boxes, pixel_boxes

        if self.table.has_detections:
            return pixel_boxes(self.table.boxes(row, self.min_confidence), size)
        path = self.table.mask_path(row)
        return [] if path is None else instance_boxes(path, size)
