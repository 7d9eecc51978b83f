"""Copy-Paste against the floor: ``python -m benchmarks.copy_paste``.

Generates 448x448 JPEGs and metadata with iWildCam's own counts, then measures, one thread, one run:

- the whole path of an augmented training example (load, paste, flip, resize to 448, normalized tensor) against the
  floor: decoding the same two JPEGs and the mask, resizing, tensor, normalization;
- the same against WILDS's plain loading without augmentation;
- start-up with the annotation cache present: seconds and memory;
- the draw of a background, for the full number of images and for a hundredth of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from tqdm import tqdm

import wilds_targeted
from benchmarks._timing import best, interleaved, ratio
from wilds_targeted.augmentations.backgrounds import BackgroundPools

SIZE = 448
SPLITS = {"train": 129_809, "val": 14_961, "test": 42_791, "id_val": 7_314, "id_test": 8_154}
CAMERAS = {"train": 243, "val": 32, "test": 48}
CLASSES = 182
EMPTY_TRAINING_IMAGES = 48_021
PICTURES = 200
"""How many different JPEGs and masks there are; the rows share them."""


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root_dir", help="Where the generated data is kept; a temporary folder by default.")
    parser.add_argument("--images", type=int, default=200, help="Images a round.")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(arguments.root_dir or temporary)
        if not (root / "iwildcam_v2.0" / "RELEASE_v2.0.txt").exists():
            generate(root, np.random.default_rng(0))
        measure(root, arguments.images, arguments.rounds)


STARTUP = """
import sys, time, tracemalloc
import wilds_targeted
dataset = wilds_targeted.get_dataset("iwildcam", root_dir=sys.argv[1])
start = time.perf_counter()
wilds_targeted.build_transform("copypaste_samey", dataset)
seconds = time.perf_counter() - start
tracemalloc.start()  # only now: it slows what it watches
transform = wilds_targeted.build_transform("copypaste_samey", dataset)
held, peak = (size / 1e6 for size in tracemalloc.get_traced_memory())
print(f"{seconds:.2f} s; holds {held:.0f} MB, at most {peak:.0f} MB on the way")
"""


def measure(root: Path, images: int, rounds: int) -> None:
    """Print the figures."""
    for title in ("annotations read for the first time", "with the annotation cache"):
        command = [sys.executable, "-c", STARTUP, str(root)]
        finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        print(f"start-up, {title}: {finished.stdout.strip()}")
    dataset = wilds_targeted.get_dataset("iwildcam", root_dir=root)
    transform: Any = wilds_targeted.build_transform("copypaste_samey", dataset)
    copy_paste, base = transform.augmentations[0], transform.base
    subset = wilds_targeted.get_subset(dataset, "train", transform=transform)
    plain = wilds_targeted.get_subset(dataset, "train", transform=base)
    positions = _positions_with_masks(subset, copy_paste, images)
    masks = {position: copy_paste.foregrounds.table.mask_path(subset.indices[position]) for position in positions}
    backgrounds = dict(zip(positions, np.random.default_rng(0).choice(copy_paste.pools.rows(1), images), strict=False))
    resize, to_tensor, normalize = base.transforms

    def floor(position: int) -> torch.Tensor:
        """Decode the animal, a background and the mask; resize, tensor, normalization. No paste, no flip, no draw."""
        dataset.get_input(backgrounds[position]).load()
        Image.open(masks[position]).load()
        tensor: torch.Tensor = normalize(to_tensor(resize(dataset.get_input(subset.indices[position]))))
        return tensor

    work = {"copy-paste": subset.__getitem__, "floor": floor, "plain": plain.__getitem__}
    spent = interleaved(work, positions, rounds)
    for name, values in spent.items():
        print(f"{name:>10}: {best(values):.2f} ms an image")
    print(f"copy-paste / floor: {ratio(spent['copy-paste'], spent['floor'])}")
    print(f"copy-paste / WILDS's plain load: {ratio(spent['copy-paste'], spent['plain'])}")
    _measure_draws()


def _positions_with_masks(subset: Any, copy_paste: Any, count: int) -> list[int]:
    table = copy_paste.foregrounds.table
    usable = [
        position
        for position, row in enumerate(subset.indices[: 20 * count])
        if table.has_mask[row]
        and len(table.instances(row, 0.5))
        and copy_paste.pools.size(int(subset.dataset.y_array[row]))
    ]
    return usable[:count]


def _measure_draws() -> None:
    cameras = np.arange(EMPTY_TRAINING_IMAGES) % CAMERAS["train"]
    microseconds = {}
    for share in (100, 1):
        rows = np.arange(EMPTY_TRAINING_IMAGES // share)
        few = BackgroundPools(rows, cameras[rows], {0: range(CAMERAS["train"])})
        rng = np.random.default_rng(0)
        start = time.perf_counter()
        for _ in range(20_000):
            few.draw(0, rng)
        microseconds[share] = 1e6 * (time.perf_counter() - start) / 20_000
    print(
        f"drawing a background: {microseconds[1]:.1f} µs among {EMPTY_TRAINING_IMAGES} images, "
        f"{microseconds[1] / microseconds[100]:.2f} times that among {EMPTY_TRAINING_IMAGES // 100}"
    )


def generate(root: Path, rng: np.random.Generator) -> None:
    """IWildCam's counts of rows, cameras and classes, over a few hundred different pictures."""
    data = root / "iwildcam_v2.0"
    (data / "train").mkdir(parents=True)
    (root / "instance_masks").mkdir()
    (root / "pictures").mkdir()
    for number in tqdm(range(PICTURES), desc="pictures", disable=None):
        _picture(rng).save(data / "train" / f"{number}.jpg", quality=90)
        _mask(rng).save(root / "pictures" / f"{number}.png")
    table = _metadata(rng)
    table.to_csv(data / "metadata.csv", index=False)
    detections = []
    for image_id, y, number in tqdm(
        zip(table["image_id"], table["y"], table["picture"], strict=True), desc="masks", disable=None
    ):
        found = _detections(rng, has_animal=y != 0)
        if found and y != 0:
            os.link(root / "pictures" / f"{number}.png", root / "instance_masks" / f"{image_id}.png")
        best = max((each["conf"] for each in found), default=0.0)
        detections.append({"id": image_id, "detections": found, "max_detection_conf": best})
    (root / "megadetector_results.json").write_text(json.dumps({"images": detections}))
    (data / "RELEASE_v2.0.txt").write_text("generated for a benchmark\n")


def _picture(rng: np.random.Generator) -> Image.Image:
    """Smooth light and fine texture, about as many bytes as an image of the real data set (59 KB)."""
    coarse = Image.fromarray(rng.integers(40, 200, (12, 12, 3), dtype=np.uint8)).resize(
        (SIZE, SIZE), Image.Resampling.BICUBIC
    )
    texture = rng.normal(0, 5, (SIZE, SIZE, 1))
    return Image.fromarray((np.asarray(coarse) + texture).clip(0, 255).astype(np.uint8))


def _mask(rng: np.random.Generator) -> Image.Image:
    rows, columns = np.mgrid[:SIZE, :SIZE]
    top, left = rng.uniform(0.3, 0.7, 2) * SIZE
    high, wide = rng.uniform(0.08, 0.25, 2) * SIZE
    return Image.fromarray((((rows - top) / high) ** 2 + ((columns - left) / wide) ** 2 < 1).astype(np.uint8))


def _detections(rng: np.random.Generator, has_animal: bool) -> list[dict[str, Any]]:
    """A sure detection of an animal first, then a tail of unsure ones, up to 100 in all."""
    confidences = np.sort(0.1 * rng.random(rng.integers(0, 100)) ** 2)[::-1]
    if has_animal and rng.random() < 0.95:
        confidences = np.concatenate([[rng.uniform(0.6, 1.0)], confidences])
    boxes = rng.uniform(0, 0.5, (len(confidences), 4)).round(4)
    return [
        {"bbox": box, "conf": conf, "category": "1"}
        for box, conf in zip(boxes.tolist(), confidences.round(3).tolist(), strict=True)
    ]


def _metadata(rng: np.random.Generator) -> pd.DataFrame:
    parts = []
    first = {"train": 0, "id_val": 0, "id_test": 0, "val": CAMERAS["train"], "test": CAMERAS["train"] + CAMERAS["val"]}
    for split, count in SPLITS.items():
        cameras = first[split] + np.arange(count) % CAMERAS.get(split, CAMERAS["train"])
        # Each camera sees about a tenth of the species, as in the real data set.
        y = 1 + (cameras * 7 + rng.integers(0, CLASSES // 10, count)) % (CLASSES - 1)
        empty = EMPTY_TRAINING_IMAGES if split == "train" else count // 3
        y[rng.permutation(count)[:empty]] = 0
        parts.append(pd.DataFrame({"split": split, "y": y, "location_remapped": cameras}))
    table = pd.concat(parts, ignore_index=True)
    table["location"] = table["location_remapped"] + 1000
    table["sequence_remapped"] = np.arange(len(table))
    table["picture"] = rng.integers(0, PICTURES, len(table))
    table["filename"] = table["picture"].map("{}.jpg".format)
    table["image_id"] = [str(uuid.UUID(bytes=rng.bytes(16))) for _ in range(len(table))]
    table["datetime"] = "2013-01-01 12:00:00.000"
    return table


if __name__ == "__main__":
    main()
