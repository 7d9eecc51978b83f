"""The annotations of a loaded iWildCam: what its plugins ask of the data set and of the files beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wilds_targeted.specs import Parameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wilds_targeted.annotations.locate import AnnotationFiles
    from wilds_targeted.annotations.table import AnnotationTable
    from wilds_targeted.foreground import Foreground

MIN_CONFIDENCE = Parameter(
    "min_confidence",
    float,
    0.5,
    "Detections below this confidence of MegaDetector's do not count, as masks and as boxes.",
    minimum=0.1,
    maximum=1,
)
ANNOTATIONS = Parameter(
    "annotations",
    str,
    None,
    "Folder with instance_masks/ and the detections' JSON file; looked for under the root directory by default.",
)


class AnnotatedForegrounds:
    """The animals' masks; where an image has none, its boxes; where it has neither, nothing.

    Args:
        table: The annotations, row by row.
        min_confidence: Detections below it do not count.
    """

    def __init__(self, table: AnnotationTable, min_confidence: float) -> None:
        self.table = table
        self.min_confidence = min_confidence

    def foreground(self, row: int, size: tuple[int, int]) -> Foreground | None:
        """The animals in the image of that row; None where nobody knows them."""
        from wilds_targeted.annotations.masks import boxes_mask, load_mask

        path = self.table.mask_path(row)
        if path is not None:
            wanted = self.table.instances(row, self.min_confidence) if self.table.has_detections else None
            mask = load_mask(path, size, wanted, int(self.table.listed[row]))
            if mask is not None:
                return mask
        return boxes_mask(self.table.boxes(row, self.min_confidence), size)


def labels(dataset: Any) -> NDArray[np.int64]:
    """The class of every row."""
    return np.asarray(dataset.y_array, dtype=np.int64)


def cameras(dataset: Any) -> NDArray[np.int64]:
    """The camera of every row, by WILDS's number."""
    return np.asarray(dataset.metadata_array[:, dataset.metadata_fields.index("location")], dtype=np.int64)


def root_of(dataset: Any) -> Path:
    """The folder in which the data set's own folder lies."""
    return Path(dataset.data_dir).parent


def annotation_files(dataset: Any, annotations: str | None) -> AnnotationFiles:
    """The annotation files in the folder ``annotations``, or under the data set's root where none is given."""
    from wilds_targeted.annotations.locate import locate

    return locate(Path(annotations) if annotations else root_of(dataset))


def open_table(dataset: Any, annotations: str | None, who: str = "Copy-Paste") -> AnnotationTable:
    """The annotations of every row.

    Args:
        dataset: The full data set.
        annotations: The folder to look in; None for the data set's root.
        who: Who needs them, for the message where there are none.

    Raises:
        AnnotationError: There are neither masks nor boxes, or they are of another data set.
    """
    from wilds_targeted.annotations.locate import how_to_get
    from wilds_targeted.annotations.table import AnnotationTable
    from wilds_targeted.errors import AnnotationError

    files = annotation_files(dataset, annotations)
    if files.masks is None and files.detections is None:
        raise AnnotationError(
            f"{who} needs the animals' masks or boxes, and there is neither instance_masks/ nor a file of "
            f"detections: {how_to_get(root_of(dataset))}."
        )
    table = AnnotationTable.open(Path(dataset.data_dir) / "metadata.csv", files)
    if len(table) != len(dataset):
        raise AnnotationError(
            f"{Path(dataset.data_dir) / 'metadata.csv'} has {len(table)} rows, but the data set {len(dataset)}"
        )
    return table
