"""Which backgrounds the three forms of Copy-Paste allow, on a world made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import wilds_targeted
from wilds_targeted import Example
from wilds_targeted.errors import AnnotationError, DataError

# split, camera, class; the row is the position. Camera 0 and 1 train, camera 2 trains too, camera 3 tests.
ROWS = [
    ("train", 0, 0),  # 0
    ("train", 0, 1),  # 1
    ("train", 1, 0),  # 2
    ("train", 1, 0),  # 3
    ("train", 1, 1),  # 4
    ("train", 1, 2),  # 5
    ("train", 2, 0),  # 6
    ("train", 2, 3),  # 7
    ("id_test", 2, 1),  # 8: camera 2 observes class 1, but not in the training split
    ("id_val", 0, 0),  # 9: empty, but not of the training split
    ("val", 3, 2),  # 10
    ("test", 3, 0),  # 11
    ("train", 4, 4),  # 12: no camera that observes class 4 has an empty image
]
# Camera 0 in Kenya, 1 in Gabon, 2 in Kenya; 3 and 4 are not known.
COORDINATES = {"100": (-1.3, 36.8), "101": (-0.8, 11.6), "102": (0.5, 37.5)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    data = tmp_path / "iwildcam_v2.0"
    (data / "train").mkdir(parents=True)
    (tmp_path / "instance_masks").mkdir()
    (data / "RELEASE_v2.0.txt").write_text("made by hand")
    table = pd.DataFrame(ROWS, columns=["split", "location_remapped", "y"])
    table["location"] = table["location_remapped"] + 100
    table["image_id"] = [f"image{row}" for row in range(len(ROWS))]
    table["filename"] = table["image_id"] + ".jpg"
    table["sequence_remapped"] = range(len(ROWS))
    table["datetime"] = "2020-01-01 10:00:00.000"
    table.to_csv(data / "metadata.csv", index=False)
    images = []
    for row, (_, _, y) in enumerate(ROWS):
        Image.fromarray(np.full((8, 12, 3), 10 * row, np.uint8)).save(data / "train" / f"image{row}.jpg", quality=95)
        found = [] if y == 0 else [{"bbox": [0.25, 0.25, 0.5, 0.5], "conf": 0.9, "category": "1"}]
        images.append({"id": f"image{row}", "detections": found, "max_detection_conf": 0.9 * bool(found)})
        if found and row != 4:
            mask = np.zeros((8, 12), np.uint8)
            mask[2:4, 6:9] = 1
            Image.fromarray(mask).save(tmp_path / "instance_masks" / f"image{row}.png")
    images[5]["detections"][0]["conf"] = 0.4
    images[7]["detections"].append({"bbox": [0, 0, 0.2, 0.2], "conf": 0.95, "category": "2"})
    mask = np.zeros((8, 12), np.uint8)
    mask[2:4, 6:9], mask[0:2, 0:2] = 1, 2
    Image.fromarray(mask).save(tmp_path / "instance_masks" / "image7.png")
    (tmp_path / "megadetector_results.json").write_text(json.dumps({"images": images}))
    gps = {key: {"latitude": latitude, "longitude": longitude} for key, (latitude, longitude) in COORDINATES.items()}
    (tmp_path / "gps_locations.json").write_text(json.dumps(gps))
    return tmp_path


@pytest.fixture
def dataset(root: Path) -> Any:
    return wilds_targeted.get_dataset("iwildcam", root_dir=root)


def backgrounds(name: str, dataset: Any, row: int) -> list[int]:
    """The rows onto which the animal of this row may be pasted."""
    augmentation = wilds_targeted.build_transform(name, dataset).augmentations[0]
    key = augmentation.pool_of(example(dataset, row))
    return [] if key is None else sorted(augmentation.pools.rows(key).tolist())


def example(dataset: Any, row: int) -> Example:
    return Example(*dataset[row], row)


def augmented(dataset: Any, row: int, seed: int = 0, **parameters: Any) -> np.ndarray:
    transform = wilds_targeted.build_transform("copypaste_all", dataset, base=None, **parameters)
    transform.flip = False
    torch.manual_seed(seed)
    return np.asarray(transform(example(dataset, row)))[..., 0]


def test_all_backgrounds_are_the_empty_training_images(dataset: Any) -> None:
    assert backgrounds("copypaste_all", dataset, 1) == [0, 2, 3, 6]
    assert backgrounds("copypaste_all", dataset, 7) == [0, 2, 3, 6]


def test_same_y_counts_what_cameras_observe_in_the_training_split(dataset: Any) -> None:
    assert backgrounds("copypaste_samey", dataset, 1) == [0, 2, 3], "cameras 0 and 1; camera 2 sees 1 in id_test only"
    assert backgrounds("copypaste_samey", dataset, 5) == [2, 3], "camera 1"
    assert backgrounds("copypaste_samey", dataset, 7) == [6], "camera 2"
    assert backgrounds("copypaste_samey", dataset, 12) == [], "camera 4 has no empty image"


def test_same_country_takes_the_unknown_as_one_group(dataset: Any) -> None:
    assert backgrounds("copypaste_samecountry", dataset, 1) == [0, 6], "Kenya: cameras 0 and 2"
    assert backgrounds("copypaste_samecountry", dataset, 5) == [2, 3], "Gabon: camera 1"
    assert backgrounds("copypaste_samecountry", dataset, 12) == [], "unknown: cameras 3 and 4, no empty training image"


def test_empty_images_are_not_augmented(dataset: Any) -> None:
    for name in ("copypaste_all", "copypaste_samey", "copypaste_samecountry"):
        assert backgrounds(name, dataset, 0) == []


def test_the_mask_is_pasted_and_nothing_else(dataset: Any) -> None:
    pasted = augmented(dataset, 1)
    inside = np.zeros((8, 12), bool)
    inside[2:4, 6:9] = True
    assert (pasted[inside] == 10).all()
    assert len(np.unique(pasted[~inside])) == 1
    assert pasted[0, 0] in (0, 20, 30, 60)


def test_without_a_mask_the_box_is_pasted(dataset: Any) -> None:
    pasted = augmented(dataset, 4)
    inside = np.zeros((8, 12), bool)
    inside[2:6, 3:9] = True
    assert (pasted[inside] == 40).all()
    assert pasted[0, 0] in (0, 20, 30, 60)
    assert len(np.unique(pasted[~inside])) == 1


def test_below_the_confidence_the_example_stays(dataset: Any) -> None:
    assert (augmented(dataset, 5) == 50).all()
    assert not (augmented(dataset, 5, min_confidence=0.4) == 50).all()


def test_people_are_left_out(dataset: Any) -> None:
    pasted = augmented(dataset, 7)
    assert (pasted[2:4, 6:9] == 70).all()
    assert (pasted[0:2, 0:2] != 70).all()


def test_resizing_first_breaks_neither_masks_nor_boxes(dataset: Any) -> None:
    transform = wilds_targeted.build_transform("copypaste_all", dataset, base=None)
    transform.flip = False
    for row, inside in ((1, (slice(4, 8), slice(12, 18))), (4, (slice(4, 12), slice(6, 18)))):
        small = example(dataset, row)
        large = Example(small.x.resize((24, 16)), small.y, small.metadata, row)
        pasted = np.asarray(transform(large))[..., 0]
        expected = np.zeros((16, 24), bool)
        expected[inside] = True
        assert ((pasted == 10 * row) == expected).all()


def test_start_tells_how_many_of_each(dataset: Any, capsys: pytest.CaptureFixture[str]) -> None:
    wilds_targeted.build_transform("copypaste_all", dataset)
    assert capsys.readouterr().err == (
        "Copy-Paste: of 5 training images with an animal 3 have a mask, 1 only boxes, 1 neither (left as they are); "
        "4 empty backgrounds.\n"
    )


def test_soft_edges_blend(dataset: Any) -> None:
    assert len(np.unique(augmented(dataset, 1, soft_edges=1.5))) > 2


def test_another_folder_of_annotations(root: Path, dataset: Any) -> None:
    elsewhere = root / "elsewhere"
    elsewhere.mkdir()
    for name in ("instance_masks", "megadetector_results.json"):
        (root / name).rename(elsewhere / name)
    with pytest.raises(AnnotationError, match="needs the animals' masks or boxes"):
        wilds_targeted.build_transform("copypaste_all", dataset)
    assert augmented(dataset, 1, annotations=str(elsewhere))[2, 6] == 10


def test_missing_coordinates(root: Path, dataset: Any) -> None:
    (root / "gps_locations.json").unlink()
    with pytest.raises(AnnotationError, match="copypaste_samecountry needs the cameras' coordinates"):
        wilds_targeted.build_transform("copypaste_samecountry", dataset)


def test_a_mask_of_another_release_is_told(root: Path, dataset: Any) -> None:
    Image.fromarray(np.full((8, 12), 9, np.uint8)).save(root / "instance_masks" / "image1.png")
    with pytest.raises(AnnotationError, match=r"image1\.png: has instance 9, but the detections file lists 1"):
        augmented(dataset, 1)


def test_a_broken_background_is_named(root: Path, dataset: Any) -> None:
    for row in (0, 2, 3, 6):
        (root / "iwildcam_v2.0" / "train" / f"image{row}.jpg").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"row [0236] of iwildcam can't be read \(.*cannot identify image file"):
        augmented(dataset, 1)


def test_coordinates_of_other_cameras_are_told(root: Path, dataset: Any) -> None:
    (root / "gps_locations.json").write_text('{"7": {"latitude": 1, "longitude": 2}}')
    with pytest.raises(AnnotationError, match=r"gps_locations\.json: has coordinates of none of the 5 cameras"):
        wilds_targeted.build_transform("copypaste_samecountry", dataset)


def test_start_tells_how_many_cameras_have_a_country(dataset: Any, capsys: pytest.CaptureFixture[str]) -> None:
    wilds_targeted.build_transform("copypaste_samecountry", dataset)
    assert "Copy-Paste: 3 of 5 cameras are in 2 countries.\n" in capsys.readouterr().err
