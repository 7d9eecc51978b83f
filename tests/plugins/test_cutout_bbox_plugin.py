"""`cutout_bbox` from the annotation files to the squares."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from wilds_targeted import build_transform, get_dataset
from wilds_targeted.augmentations.boxes import covered_share
from wilds_targeted.augmentations.cutout import Cutout
from wilds_targeted.example import load_example, training_rows
from wilds_targeted.foreground import Box

PERSON = "2"


def aware_cutout(dataset: Any, **parameters: Any) -> Cutout:
    pipeline: Any = build_transform("cutout_bbox", dataset, **parameters)
    (cutout,) = pipeline.augmentations
    return cutout


def image_ids(root: Path) -> list[str]:
    return pd.read_csv(root / "iwildcam_v2.0" / "metadata.csv")["image_id"].astype(str).tolist()


def hides_too_much(dataset: Any, cutout: Cutout, boxes: dict[int, list[Box]], draws: int) -> float:
    """The share of draws that hide more than half of an animal."""
    rng = np.random.default_rng(0)
    rows = sorted(boxes)
    bad = 0
    for number in range(draws):
        row = rows[number % len(rows)]
        square = cutout.draw(load_example(dataset, row), rng)
        bad += max(covered_share(box, square) for box in boxes[row]) > 0.5
    return bad / draws


def test_a_thousand_draws_on_annotated_animals(miniature: Path) -> None:
    dataset = get_dataset("iwildcam", root_dir=miniature)
    listed = json.loads((miniature / "megadetector_results.json").read_text())["images"]
    detections = {image["id"]: image["detections"] for image in listed}
    boxes: dict[int, list[Box]] = {}
    for row in training_rows(dataset):
        found = [each for each in detections[image_ids(miniature)[row]] if each["conf"] >= 0.5]
        animals = [each["bbox"] for each in found if each["category"] != PERSON]
        width, height = load_example(dataset, int(row)).x.size
        # At least the pixels that the box covers wholly.
        corners = [(x * width, y * height, (x + w) * width, (y + h) * height) for x, y, w, h in animals]
        if corners and len(boxes) < 50:
            boxes[int(row)] = [(round(a), round(b), round(c), round(d)) for a, b, c, d in corners]
    assert len(boxes) == 50
    plain = hides_too_much(dataset, Cutout(), boxes, 1000)
    aware = hides_too_much(dataset, aware_cutout(dataset), boxes, 1000)
    assert plain > 0.03
    assert aware < 0.01
    assert aware < plain / 5


@pytest.fixture
def masks_only(miniature: Path, tmp_path: Path) -> Path:
    """Masks without a file of detections; the first training picture has two animals, in opposite corners."""
    root = tmp_path / "root"
    shutil.copytree(miniature, root)
    (root / "megadetector_results.json").unlink()
    for cache in (root / "iwildcam_v2.0").glob("*annotations*"):
        cache.unlink()
    mask = np.zeros((48, 64), np.uint8)
    mask[4:14, 4:14] = 1
    mask[34:44, 50:60] = 3
    row = int(training_rows(get_dataset("iwildcam", root_dir=root))[0])
    Image.fromarray(mask).save(root / "instance_masks" / f"{image_ids(root)[row]}.png")
    return root


def test_without_detections_each_instance_of_a_mask_counts(masks_only: Path) -> None:
    dataset = get_dataset("iwildcam", root_dir=masks_only)
    row = int(training_rows(dataset)[0])
    cutout = aware_cutout(dataset)
    assert cutout.objects is not None
    two: list[Box] = [(4, 4, 14, 14), (50, 34, 60, 44)]
    assert cutout.objects.boxes(row, (64, 48)) == two
    assert cutout.objects.boxes(row, (128, 96)) == [(8, 8, 28, 28), (100, 68, 120, 88)]
    plain = hides_too_much(dataset, Cutout(), {row: two}, 1000)
    aware = hides_too_much(dataset, cutout, {row: two}, 1000)
    assert plain > 0.1
    assert aware < plain / 4
