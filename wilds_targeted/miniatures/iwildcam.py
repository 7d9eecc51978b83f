"""A miniature of iWildCam: generated camera traps in the format that WILDS's own class reads.

In the paper's words: the *object* is the animal (body plan and coat); *noise* is where it stands, which way it looks,
its size, and the time of day; the *robust* feature is the habitat; *spurious* are each camera's own scenery, its
tint, and which species happens to pass it most. Every habitat has an antelope, and these are look-alikes: the same code
draws them from the same distribution, so only the habitat tells them apart. The other nine species are built like no
other. Few cameras train, nearly all animals that pass one are of one species, and other cameras test.

A camera's tint lies over the whole picture, the animal included, as it does in reality; a copied animal brings it
along. Nothing here knows of any method that will be trained on the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image
from tqdm.auto import tqdm

from wilds_targeted.miniatures._optics import Tint
from wilds_targeted.miniatures._population import (
    CLASSES,
    Camera,
    Frame,
    Stream,
    photograph,
    place_cameras,
    stream,
)
from wilds_targeted.miniatures._scenery import paint_scene
from wilds_targeted.miniatures._snapshot import Snapshot, take_snapshot
from wilds_targeted.miniatures._writing import Layout, write_csv

DATA_FOLDER = "iwildcam_v2.0"
MASK_FOLDER = "instance_masks"
DETECTIONS_FILE = "megadetector_results.json"
COORDINATES_FILE = "gps_locations.json"
# With fewer than twelve training cameras (four a habitat) the turns of the species would leave one that every camera of
# its habitat sees; fewer than 20 pictures cannot fill three splits, and fewer than 8 do not show each class that a
# camera sees.
_LAYOUT = Layout(
    title="iWildCam",
    parts=(MASK_FOLDER, DETECTIONS_FILE, COORDINATES_FILE, DATA_FOLDER),
    release_file="RELEASE_v2.0.txt",
    ranges={
        "train_cameras": (12, 300),
        "val_cameras": (3, 300),
        "test_cameras": (3, 300),
        "images_per_camera": (20, 10_000),
        "images_per_unseen_camera": (8, 10_000),
        "width": (32, 1024),
        "height": (32, 1024),
        "seed": (0, 2**63 - 1),
    },
)


def write_iwildcam(
    root_dir: str | Path,
    *,
    seed: int = 0,
    train_cameras: int = 12,
    val_cameras: int = 24,
    test_cameras: int = 30,
    images_per_camera: int = 180,
    images_per_unseen_camera: int = 12,
    width: int = 96,
    height: int = 72,
    overwrite: bool = False,
    progress: bool = True,
) -> Path:
    """Write a miniature iWildCam with masks, detections and coordinates, whole or not at all.

    The same arguments give the same bytes. Below `root_dir` appear ``iwildcam_v2.0/``, ``instance_masks/``,
    ``megadetector_results.json`` and ``gps_locations.json``.

    Args:
        root_dir: The folder to write into; made if it is not there. WILDS's ``--root_dir``.
        seed: Which world.
        train_cameras: Cameras of the splits train, id_val and id_test (about 70, 15 and 15 per cent of their pictures).
        val_cameras: Other cameras, of the split val.
        test_cameras: Other cameras, of the split test.
        images_per_camera: Pictures of each training camera.
        images_per_unseen_camera: Pictures of each camera of val and test.
        width: Of a picture, in pixels.
        height: Of a picture, in pixels.
        overwrite: Replace a miniature that is there. Anything else is never replaced.
        progress: Show a progress bar when the output is a terminal.

    Returns:
        The folder ``iwildcam_v2.0``.

    Raises:
        ParameterError: A size or the seed is out of its range.
        DataError: Something is there already.
    """
    counts = {"train": train_cameras, "val": val_cameras, "test": test_cameras}
    pictures = {"images_per_camera": images_per_camera, "images_per_unseen_camera": images_per_unseen_camera}
    sizes = pictures | {"width": width, "height": height, "seed": seed}
    _LAYOUT.check_ranges({f"{split}_cameras": count for split, count in counts.items()} | sizes)
    root = Path(root_dir)
    cameras = place_cameras(seed, counts)
    frames: list[Frame] = []
    for camera in cameras:
        frames += photograph(seed, camera, images_per_camera if camera.split == "train" else images_per_unseen_camera)
    with _LAYOUT.written_whole(root, counts | sizes, overwrite=overwrite) as new:
        _write_pictures(new, seed, frames, (width, height), progress=progress)
        _write_tables(new, seed, cameras, frames)
    return root / DATA_FOLDER


def _write_pictures(folder: Path, seed: int, frames: Iterable[Frame], size: tuple[int, int], *, progress: bool) -> None:
    """Write all pictures, masks and detections."""
    pictures, masks = folder / DATA_FOLDER / "train", folder / MASK_FOLDER
    pictures.mkdir()
    masks.mkdir()
    entries: list[dict[str, Any]] = []
    camera = None
    for frame in tqdm(frames, desc="miniature iwildcam", unit="image", disable=None if progress else True):
        if frame.camera is not camera:
            camera = frame.camera
            scene = paint_scene(camera.habitat, stream(seed, Stream.SCENE, camera.index), *size)
            tint = Tint.draw(stream(seed, Stream.TINT, camera.index))
        snapshot = take_snapshot(seed, frame, scene, tint)
        Image.fromarray(snapshot.pixels).save(pictures / f"{frame.image_id}.jpg", quality=90)
        if snapshot.instances is not None:
            Image.fromarray(snapshot.instances).save(masks / f"{frame.image_id}.png")
        entries.append(_detection_entry(frame, snapshot))
    found = {
        "images": entries,
        "detection_categories": {"1": "animal", "2": "person", "3": "vehicle"},
        "info": {"detector": _LAYOUT.mark, "format_version": "1.0"},
    }
    (folder / DETECTIONS_FILE).write_text(json.dumps(found), encoding="utf-8")


def _detection_entry(frame: Frame, snapshot: Snapshot) -> dict[str, Any]:
    detections = [{"category": d.category, "bbox": list(d.bbox), "conf": d.conf} for d in snapshot.detections]
    best = max((d.conf for d in snapshot.detections), default=0.0)
    return {"id": frame.image_id, "detections": detections, "max_detection_conf": best}


def _write_tables(folder: Path, seed: int, cameras: list[Camera], frames: list[Frame]) -> None:
    """Write metadata.csv, categories.csv and the coordinates."""
    # The release's category numbers have gaps; only `y` is contiguous.
    gaps = stream(seed, Stream.WORLD, 1).permutation(range(2, 500))[: len(CLASSES) - 1].tolist()
    category_ids = [0, *sorted(gaps)]
    sequences: dict[tuple[int, int], int] = {}
    rows = []
    for frame in frames:
        camera = frame.camera
        sequence = sequences.setdefault((camera.index, frame.sequence), len(sequences))
        rows.append(
            {
                "split": frame.split,
                "location_remapped": camera.index,
                "location": camera.location,
                "sequence_remapped": sequence,
                "seq_id": f"{camera.location}-{frame.sequence:05d}",
                "y": frame.y,
                "category_id": category_ids[frame.y],
                "datetime": frame.taken.strftime("%Y-%m-%d %H:%M:%S.%f"),
                "filename": f"{frame.image_id}.jpg",
                "image_id": frame.image_id,
                "seq_num_frames": frame.seq_num_frames,
                "frame_num": frame.frame_num,
            }
        )
    write_csv(folder / DATA_FOLDER / "metadata.csv", rows)
    categories = [
        {"y": y, "category_id": number, "name": name}
        for y, (number, name) in enumerate(zip(category_ids, CLASSES, strict=True))
    ]
    write_csv(folder / DATA_FOLDER / "categories.csv", categories)
    known = {str(c.location): c.coordinates for c in cameras if c.coordinates is not None}
    places = {key: {"latitude": lat, "longitude": lon} for key, (lat, lon) in known.items()}
    (folder / COORDINATES_FILE).write_text(json.dumps(places, indent=1), encoding="utf-8")
