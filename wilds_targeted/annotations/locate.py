"""Finds the published annotations of iWildCam below a data root.

Three layouts are known: the paper authors' bundle (everything in the root), iWildCam 2021 and iWildCam 2022 (a folder
``metadata/`` with ``instance_masks/`` inside or beside it).

The numbers in a mask are positions in the detections *of the same release*: iWildCam 2021 and the authors' bundle used
MegaDetector v3, iWildCam 2022 used v4. Keep one release in a root.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_FOLDERS = (
    "",
    "metadata",
    "iwildcam2021",
    "iwildcam2021/metadata",
    "iwildcam2022",
    "iwildcam2022/metadata",
    "iwildcam_v2.0",
    "iwildcam_v2.0/metadata",
)
_MASKS = ("instance_masks",)
_DETECTIONS = (
    "megadetector_results.json",
    "iwildcam2021_megadetector_results.json",
    "iwildcam2022_mdv4_detections.json",
)
_COORDINATES = ("gps_locations.json",)


@dataclass(frozen=True)
class AnnotationFiles:
    """Where the annotations are; None for what was not found.

    Args:
        masks: The folder with ``{image_id}.png``, one a detected image.
        detections: MegaDetector's boxes, JSON.
        coordinates: The cameras' coordinates, JSON.
    """

    masks: Path | None = None
    detections: Path | None = None
    coordinates: Path | None = None


def locate(root: Path) -> AnnotationFiles:
    """Look for each of the three on its own, in the root first and then in the folders of the known releases."""
    return AnnotationFiles(
        masks=_first(root, _MASKS, Path.is_dir),
        detections=_first(root, _DETECTIONS, Path.is_file),
        coordinates=_first(root, _COORDINATES, Path.is_file),
    )


def _first(root: Path, names: tuple[str, ...], is_there: Callable[[Path], bool]) -> Path | None:
    candidates = (root / folder / name for folder in _FOLDERS for name in names)
    return next(filter(is_there, candidates), None)


def how_to_get(root: Path) -> str:
    """One line for an error message: where the annotations can be had, and where to put them."""
    return (
        f"unpack iWildCam 2021's metadata.zip (LILA; md5 e67aa5c935636360b017dfbf4c8e716f) in {root / 'iwildcam2021'} "
        "and put its gps_locations.json (md5 3790fa2bbb138a854632f7ee4c47d789) beside it; where that release is no "
        "longer served, iWildCam 2022 holds the same kinds of file (https://lila.science/datasets/iwildcam-2022), to "
        f"be unpacked in {root / 'iwildcam2022'}"
    )
