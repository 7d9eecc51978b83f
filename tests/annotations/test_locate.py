from __future__ import annotations

from pathlib import Path

import pytest

from wilds_targeted.annotations.locate import AnnotationFiles, how_to_get, locate


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    return path


def put_folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def test_nothing_there(tmp_path: Path) -> None:
    assert locate(tmp_path) == AnnotationFiles(None, None, None)
    assert locate(tmp_path / "absent") == AnnotationFiles()


def test_the_authors_bundle(tmp_path: Path) -> None:
    masks = put_folder(tmp_path / "instance_masks")
    detections = put(tmp_path / "megadetector_results.json")
    assert locate(tmp_path) == AnnotationFiles(masks, detections, None)


@pytest.mark.parametrize("folder", ["", "iwildcam2021", "iwildcam_v2.0"])
@pytest.mark.parametrize("masks_folder", ["", "metadata"])
def test_the_2021_release(tmp_path: Path, folder: str, masks_folder: str) -> None:
    root = tmp_path / folder
    detections = put(root / "metadata" / "iwildcam2021_megadetector_results.json")
    masks = put_folder(root / masks_folder / "instance_masks")
    coordinates = put(root / "gps_locations.json")
    assert locate(tmp_path) == AnnotationFiles(masks, detections, coordinates)


def test_the_2022_release(tmp_path: Path) -> None:
    release = tmp_path / "iwildcam2022"
    masks = put_folder(release / "instance_masks")
    detections = put(release / "metadata" / "iwildcam2022_mdv4_detections.json")
    coordinates = put(release / "metadata" / "gps_locations.json")
    assert locate(tmp_path) == AnnotationFiles(masks, detections, coordinates)


def test_each_is_looked_for_on_its_own_and_the_root_comes_first(tmp_path: Path) -> None:
    put(tmp_path / "iwildcam2022" / "metadata" / "iwildcam2022_mdv4_detections.json")
    detections = put(tmp_path / "megadetector_results.json")
    coordinates = put(tmp_path / "iwildcam2021" / "gps_locations.json")
    put(tmp_path / "iwildcam_v2.0" / "gps_locations.json")
    assert locate(tmp_path) == AnnotationFiles(None, detections, coordinates)


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path) -> None:
    put(tmp_path / "instance_masks")
    put_folder(tmp_path / "megadetector_results.json")
    assert locate(tmp_path) == AnnotationFiles()


def test_the_advice_is_one_line_that_says_what_and_where(tmp_path: Path) -> None:
    advice = how_to_get(tmp_path)
    assert "\n" not in advice
    for part in (
        "metadata.zip",
        "e67aa5c935636360b017dfbf4c8e716f",
        "gps_locations.json",
        str(tmp_path / "iwildcam2021"),
    ):
        assert part in advice


def test_masks_and_detections_of_one_release_go_together(tmp_path: Path) -> None:
    (tmp_path / "iwildcam2021" / "metadata" / "instance_masks").mkdir(parents=True)
    newer = tmp_path / "iwildcam2022" / "metadata"
    (newer / "instance_masks").mkdir(parents=True)
    (newer / "iwildcam2022_mdv4_detections.json").touch()
    found = locate(tmp_path)
    assert found.masks == newer / "instance_masks"
    assert found.detections == newer / "iwildcam2022_mdv4_detections.json"
