from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from wilds_targeted.annotations.detections import Category, Detection, ImageDetections, read_categories, read_images
from wilds_targeted.errors import AnnotationError

GOOD = {"bbox": [0.25, 0.5, 0.125, 0.25], "conf": 0.75, "category": "1"}
A_BOX = "4 numbers from 0 to 1 (x, y, width, height relative to the image)"


def write(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "detections.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def one_image(detections: Any, **others: Any) -> dict[str, Any]:
    return {"images": [{"id": "a", "detections": detections, **others}]}


def error_of(path: Path) -> str:
    with pytest.raises(AnnotationError) as caught:
        list(read_images(path))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_images_come_in_order_with_ordinals_from_one(tmp_path: Path) -> None:
    unsure = {**GOOD, "conf": 0.1, "category": "2"}
    content = {
        "info": {"detector": "v3"},
        "images": [
            {"id": "b", "detections": [unsure, GOOD], "max_detection_conf": 0.75},
            {"id": "a", "detections": [], "max_detection_conf": 0},
        ],
    }
    box = (0.25, 0.5, 0.125, 0.25)
    assert list(read_images(write(tmp_path, content))) == [
        ImageDetections("b", 2, [Detection(1, "2", 0.1, box), Detection(2, "1", 0.75, box)]),
        ImageDetections("a", 0, []),
    ]


def test_unsure_detections_are_left_out_and_still_counted(tmp_path: Path) -> None:
    content = one_image([{**GOOD, "conf": conf} for conf in (0.05, 0.1, 0.0999, 1)])
    (image,) = read_images(write(tmp_path, content), min_confidence=0.1)
    assert image.listed == 4
    assert [(detection.ordinal, detection.confidence) for detection in image.detections] == [(2, 0.1), (4, 1)]


def test_the_2022_release_names_files(tmp_path: Path) -> None:
    content = {"images": [{"file": "train/8c2a.jpg", "detections": [GOOD]}]}
    assert [image.image_id for image in read_images(write(tmp_path, content))] == ["8c2a"]


def test_boxes_that_stick_out_by_rounding_are_clipped(tmp_path: Path) -> None:
    path = write(tmp_path, one_image([{**GOOD, "bbox": [-0.0005, 0, 1.0005, 1]}]))
    (image,) = read_images(path)
    assert image.detections[0].box == (0, 0, 1, 1)


@pytest.mark.parametrize("failed", [{"detections": None}, {}])
def test_an_image_that_megadetector_could_not_open_has_no_detections(tmp_path: Path, failed: dict[str, Any]) -> None:
    path = write(tmp_path, {"images": [{"file": "train/a.jpg", "failure": "Failure image access", **failed}]})
    assert list(read_images(path)) == [ImageDetections("a", 0, [])]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"bbox": [0.1, 0.2, 0.3]}, f"bbox: got [0.1, 0.2, 0.3]; expected {A_BOX}"),
        ({"bbox": [0.1, 0.2, 0.3, 1.5]}, f"bbox: got [0.1, 0.2, 0.3, 1.5]; expected {A_BOX}"),
        ({"bbox": [-0.1, 0.2, 0.3, 0.5]}, f"bbox: got [-0.1, 0.2, 0.3, 0.5]; expected {A_BOX}"),
        ({"bbox": [0.1, 0.2, 0.3, "0.5"]}, f"bbox: got [0.1, 0.2, 0.3, '0.5']; expected {A_BOX}"),
        ({"bbox": [0.1, 0.2, 0.3, True]}, f"bbox: got [0.1, 0.2, 0.3, True]; expected {A_BOX}"),
        ({"bbox": "0.1 0.2 0.3 0.4"}, f"bbox: got '0.1 0.2 0.3 0.4'; expected {A_BOX}"),
        ({"bbox": None}, f"bbox: got None; expected {A_BOX}"),
        ({"conf": 1.01}, "conf: got 1.01; expected a number from 0 to 1"),
        ({"conf": -0.01}, "conf: got -0.01; expected a number from 0 to 1"),
        ({"conf": "high"}, "conf: got 'high'; expected a number from 0 to 1"),
        ({"category": 1}, "category: got 1; expected a string, a key of detection_categories"),
    ],
)
def test_a_wrong_field_of_a_detection_is_named(tmp_path: Path, broken: dict[str, Any], message: str) -> None:
    content = {
        "images": [
            {"id": "a", "detections": []},
            {"id": "b", "detections": [GOOD, GOOD, {**GOOD, **broken}]},
        ]
    }
    assert error_of(write(tmp_path, content)) == f"images[1].detections[2].{message}"


@pytest.mark.parametrize("key", ["bbox", "conf", "category"])
def test_a_missing_field_of_a_detection_is_named(tmp_path: Path, key: str) -> None:
    path = write(tmp_path, one_image([{name: value for name, value in GOOD.items() if name != key}]))
    assert re.match(rf"images\[0\]\.detections\[0\]\.{key}: missing; expected .+", error_of(path))


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (3, "images[0]: got 3; expected an object with 'id' and 'detections'"),
        ({"detections": []}, "images[0].id: missing; expected a string, the image's id (or 'file', its path)"),
        ({"id": 7, "detections": []}, "images[0].id: got 7; expected a string, the image's id (or 'file', its path)"),
        (
            {"file": "", "detections": []},
            "images[0].file: got ''; expected a string, the image's id (or 'file', its path)",
        ),
        ({"id": "a"}, "images[0].detections: missing; expected a list of detections"),
        ({"id": "a", "detections": {}}, "images[0].detections: got {}; expected a list of detections"),
        (
            {"id": "a", "detections": [7]},
            "images[0].detections[0]: got 7; expected an object with 'bbox', 'conf' and 'category'",
        ),
        ({"id": "a", "detections": 256 * [GOOD]}, "images[0].detections: got 256 detections; expected at most 255"),
    ],
)
def test_a_wrong_image_is_named(tmp_path: Path, image: Any, message: str) -> None:
    assert error_of(write(tmp_path, {"images": [image]})) == message


def test_255_detections_are_allowed(tmp_path: Path) -> None:
    (image,) = read_images(write(tmp_path, one_image(255 * [GOOD])))
    assert [image.listed, image.detections[-1].ordinal] == [255, 255]


def test_the_same_image_twice(tmp_path: Path) -> None:
    content = {"images": [{"id": "a", "detections": []}, {"file": "test/a.jpg", "detections": []}]}
    assert error_of(write(tmp_path, content)) == "images[1]: got 'a'; expected an id that no image before it has"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "images: missing; expected a list of images with 'id' and 'detections'"),
        ([], "images: missing; expected a list of images with 'id' and 'detections'"),
        ({"images": 3}, "images: got 3; expected a list of images with 'id' and 'detections'"),
        ({"images": []}, "images: got []; expected a list of images with 'id' and 'detections'"),
        ({"images": {"a": 1}}, "images: got {}; expected a list of images with 'id' and 'detections'"),
    ],
)
def test_no_images(tmp_path: Path, content: Any, message: str) -> None:
    assert error_of(write(tmp_path, content)) == message


@pytest.mark.parametrize(
    "content",
    ['{"images": [{"id": "a", "detections": []}, {"id": "b"', '{"images": [{"id": "a", "detections": []}, NaN]}'],
)
def test_broken_json_says_how_far_it_was_read(tmp_path: Path, content: str) -> None:
    assert re.fullmatch(
        r"images\[1\] or later: not JSON \(.+\); is the file complete\?", error_of(write(tmp_path, content))
    )


def test_an_empty_and_an_absent_file(tmp_path: Path) -> None:
    empty = write(tmp_path, "")
    assert "is the file complete?" in error_of(empty)
    with pytest.raises(AnnotationError, match=r"detections\.json: empty; .*is the file complete\?$"):
        read_categories(empty)
    assert error_of(tmp_path / "absent.json") == "cannot be read (No such file or directory)"


def test_long_values_are_shortened(tmp_path: Path) -> None:
    assert len(error_of(write(tmp_path, one_image([{**GOOD, "conf": 10_000 * "x\n"}])))) < 200


NAMES = {"1": "vehicle", "2": "Animal", "3": "human", "4": "person", "9": "drone"}
MEANING = {
    "1": Category.VEHICLE,
    "2": Category.ANIMAL,
    "3": Category.PERSON,
    "4": Category.PERSON,
    "9": Category.OTHER,
}


class TestCategories:
    def test_before_the_images(self, tmp_path: Path) -> None:
        assert read_categories(write(tmp_path, {"detection_categories": NAMES, **one_image([])})) == MEANING

    def test_after_the_images(self, tmp_path: Path) -> None:
        assert read_categories(write(tmp_path, {**one_image([]), "detection_categories": NAMES})) == MEANING

    def test_spread_over_lines(self, tmp_path: Path) -> None:
        content = json.dumps({"detection_categories": NAMES, **one_image([])}, indent=2).replace('":', '" :\r\n')
        assert read_categories(write(tmp_path, content)) == MEANING

    def test_missing(self, tmp_path: Path) -> None:
        assert read_categories(write(tmp_path, one_image([]))) == {
            "1": Category.ANIMAL,
            "2": Category.PERSON,
            "3": Category.VEHICLE,
        }

    @pytest.mark.parametrize("names", [["animal"], {"1": 1}, "animal", None])
    def test_wrong(self, tmp_path: Path, names: Any) -> None:
        path = write(tmp_path, {**one_image([]), "detection_categories": names})
        with pytest.raises(AnnotationError) as caught:
            read_categories(path)
        assert str(caught.value) == (
            f'{path}: detection_categories: got {names!r}; expected an object such as {{"1": "animal", "2": "person"}}'
        )

    def test_cut_off(self, tmp_path: Path) -> None:
        path = write(tmp_path, '{"images": [], "detection_categories": {"1": "anim')
        with pytest.raises(AnnotationError, match=r"detections\.json: detection_categories: got .*anim"):
            read_categories(path)
