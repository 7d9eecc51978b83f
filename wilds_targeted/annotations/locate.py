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

_RELEASES = ("", "iwildcam2021", "iwildcam2022", "iwildcam_v2.0")
"""Folders in which a release's files may lie, or in ``metadata/`` below."""

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
    """The annotations below a root: masks and detections of one release where one has both, else each on its own."""
    found = [_in_release(root / release) for release in _RELEASES]
    pair = next((files for files in found if files.masks and files.detections), None)
    return AnnotationFiles(
        masks=pair.masks if pair else next((files.masks for files in found if files.masks), None),
        detections=pair.detections if pair else next((files.detections for files in found if files.detections), None),
        coordinates=next((files.coordinates for files in found if files.coordinates), None),
    )


def _in_release(folder: Path) -> AnnotationFiles:
    return AnnotationFiles(
        masks=_first(folder, _MASKS, Path.is_dir),
        detections=_first(folder, _DETECTIONS, Path.is_file),
        coordinates=_first(folder, _COORDINATES, Path.is_file),
    )


def _first(folder: Path, names: tuple[str, ...], is_there: Callable[[Path], bool]) -> Path | None:
    candidates = (place / name for place in (folder, folder / "metadata") for name in names)
    return next(filter(is_there, candidates), None)


def how_to_get(root: Path) -> str:
    """One line for an error message: where the annotations can be had, and where to put them."""
    return (
        f"unpack iWildCam 2021's metadata.zip (LILA; md5 e67aa5c935636360b017dfbf4c8e716f) in {root / 'iwildcam2021'} "
        "and put its gps_locations.json (md5 3790fa2bbb138a854632f7ee4c47d789) beside it; where that release is no "
        "longer served, iWildCam 2022 holds the same kinds of file (https://lila.science/datasets/iwildcam-2022), to "
        f"be unpacked in {root / 'iwildcam2022'}"
    )
