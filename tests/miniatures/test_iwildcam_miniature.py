"""The miniature iWildCam: WILDS reads it, and the world is what its documentation says."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from PIL import Image
from wilds.datasets.iwildcam_dataset import IWildCamDataset

from wilds_targeted.cli.miniature import command
from wilds_targeted.errors import DataError, ParameterError
from wilds_targeted.miniatures._population import CLASSES, plan_of
from wilds_targeted.miniatures._snapshot import Snapshot, take_snapshot
from wilds_targeted.miniatures.iwildcam import write_iwildcam

SIZES = {
    "train_cameras": 13,
    "val_cameras": 4,
    "test_cameras": 5,
    "images_per_camera": 40,
    "images_per_unseen_camera": 30,
    "width": 64,
    "height": 48,
}
TINY = {
    "train_cameras": 12,
    "val_cameras": 3,
    "test_cameras": 3,
    "images_per_camera": 20,
    "images_per_unseen_camera": 20,
    "width": 32,
    "height": 32,
}
HABITATS, SPECIES = 3, 4
LOOK_ALIKES = (1, 5, 9)
"""The antelopes, one a habitat."""


def make(root: Path, **changes: int | bool) -> Path:
    return write_iwildcam(root, progress=False, **(TINY | changes))


def checksums(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("miniature")
    write_iwildcam(root, progress=False, **SIZES)
    return root


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("tiny"), seed=5).parent


@pytest.fixture(scope="module")
def metadata(root: Path) -> pd.DataFrame:
    table = pd.read_csv(root / "iwildcam_v2.0" / "metadata.csv")
    return table.assign(habitat=(table.y - 1) // SPECIES)


@pytest.fixture(scope="module")
def entries(root: Path) -> dict[str, list[dict]]:
    found = json.loads((root / "megadetector_results.json").read_text())
    assert found["detection_categories"] == {"1": "animal", "2": "person", "3": "vehicle"}
    for entry in found["images"]:
        confidences = [detection["conf"] for detection in entry["detections"]]
        assert confidences == sorted(confidences, reverse=True)
        assert entry["max_detection_conf"] == max(confidences, default=0)
    return {entry["id"]: entry["detections"] for entry in found["images"]}


@pytest.fixture(scope="module")
def masks(root: Path) -> dict[str, np.ndarray]:
    loaded = {}
    for path in (root / "instance_masks").iterdir():
        image = Image.open(path)
        assert image.mode == "L"
        loaded[path.stem] = np.asarray(image)
    return loaded


def habitats_of(table: pd.DataFrame) -> pd.Series:
    """Each camera's habitat."""
    animals = table[table.y > 0].groupby("location_remapped").habitat
    assert (animals.nunique() == 1).all()
    return animals.first()


def test_wilds_own_class_loads_it(root: Path, metadata: pd.DataFrame) -> None:
    dataset = IWildCamDataset(root_dir=str(root))
    assert len(dataset) == len(metadata) == 13 * 40 + 9 * 30
    assert dataset.n_classes == 1 + HABITATS * SPECIES
    for split in ("train", "val", "test", "id_val", "id_test"):
        image, y, meta = dataset.get_subset(split)[0]
        assert image.mode == "RGB"
        assert image.size == (64, 48)
        assert meta[dataset.metadata_fields.index("y")] == y
    assert dataset.metadata_array[:, dataset.metadata_fields.index("year")].min() >= 2013


def test_splits_are_as_asked(metadata: pd.DataFrame) -> None:
    cameras = metadata.groupby("split").location_remapped.agg(set)
    assert len(cameras["train"]) == 13
    assert cameras["train"] == cameras["id_val"] == cameras["id_test"]
    assert len(cameras["val"]) == 4
    assert len(cameras["test"]) == 5
    assert not cameras["train"] & cameras["val"] | cameras["train"] & cameras["test"] | cameras["val"] & cameras["test"]
    pictures = metadata.groupby("location_remapped").size()
    assert set(pictures[list(cameras["train"])]) == {40}
    assert set(pictures[list(cameras["val"] | cameras["test"])]) == {30}
    assert 0.65 < (metadata.split == "train").sum() / (13 * 40) < 0.75


def test_numbers_are_contiguous_and_names_are_kept(root: Path, metadata: pd.DataFrame) -> None:
    for column in ("y", "location_remapped", "sequence_remapped"):
        assert sorted(metadata[column].unique()) == list(range(metadata[column].max() + 1))
    assert set(metadata[metadata.split == "train"].y) == set(range(13))
    assert not (metadata.location == metadata.location_remapped).any()
    assert metadata.image_id.is_unique
    assert (metadata.filename == metadata.image_id + ".jpg").all()
    categories = pd.read_csv(root / "iwildcam_v2.0" / "categories.csv")
    assert categories.name[0] == "empty"
    assert (metadata.y.map(categories.set_index("y").category_id) == metadata.category_id).all()


def test_sequences_keep_their_class_their_split_and_their_day(metadata: pd.DataFrame) -> None:
    sequences = metadata.assign(day=metadata.datetime.str[:10]).groupby("sequence_remapped")
    for column in ("y", "split", "location_remapped", "day", "seq_num_frames"):
        assert (sequences[column].nunique() == 1).all()
    assert sequences.size().between(1, 3).all()
    assert (sequences.size() == sequences.seq_num_frames.first()).all()


def test_each_species_is_seen_by_two_training_cameras_but_not_by_all_of_its_habitat(metadata: pd.DataFrame) -> None:
    train = metadata[metadata.split == "train"]
    habitats = habitats_of(train)
    for y, cameras in train[train.y > 0].groupby("y").location_remapped.nunique().items():
        assert 2 <= cameras < (habitats == (y - 1) // SPECIES).sum()


def test_every_training_camera_sees_one_species_mostly(metadata: pd.DataFrame) -> None:
    """The spurious tie: within the training cameras the scenery gives the species away, more often than not."""
    animals = metadata[(metadata.split == "train") & (metadata.y > 0)]
    counts = animals.groupby(["location_remapped", "y"]).size().unstack(fill_value=0)
    assert (counts > 0).sum(axis=1).eq(3).all()
    assert counts.max(axis=1).sum() / counts.to_numpy().sum() > 0.65
    assert counts.idxmax(axis=1).nunique() >= 11


def test_every_training_camera_has_empty_pictures(metadata: pd.DataFrame) -> None:
    empty = metadata[metadata.split == "train"].assign(empty=metadata.y == 0).groupby("location_remapped").empty
    assert empty.any().all()
    assert 0.2 < (metadata.y == 0).mean() < 0.5


def test_unseen_cameras_lie_in_the_habitats_of_training(metadata: pd.DataFrame) -> None:
    for split in ("train", "val", "test"):
        assert set(habitats_of(metadata[metadata.split == split])) == set(range(HABITATS))


def test_look_alikes_share_a_body_plan_and_the_others_have_one_of_their_own() -> None:
    assert [CLASSES[y] for y in LOOK_ALIKES] == ["forest antelope", "savanna antelope", "steppe antelope"]
    assert len({plan_of(y) for y in LOOK_ALIKES}) == 1
    plans = [plan_of(y) for y in range(1, len(CLASSES))]
    assert len(set(plans)) == 1 + len(plans) - len(LOOK_ALIKES)


def test_look_alikes_have_the_same_look(tmp_path: Path) -> None:
    """Mean colour and filled area of cut-out animals differ between species more than between look-alikes.

    The tint lies over the animal too, so colours are compared over many cameras, and areas relative to their box.
    """
    sizes = {"train_cameras": 36, "images_per_camera": 24, "width": 48, "height": 36, "seed": 3}
    write_iwildcam(tmp_path, progress=False, **(TINY | sizes))
    metadata = pd.read_csv(tmp_path / "iwildcam_v2.0" / "metadata.csv").query("y > 0")
    looks = []
    for image_id, y in zip(metadata.image_id, metadata.y, strict=True):
        mask_path = tmp_path / "instance_masks" / f"{image_id}.png"
        if mask_path.is_file():
            animal = np.asarray(Image.open(mask_path)) == 1
            pixels = np.asarray(Image.open(tmp_path / "iwildcam_v2.0" / "train" / f"{image_id}.jpg"))
            filled = animal.sum() / (np.ptp(animal.nonzero()[0]) + 1) / (np.ptp(animal.nonzero()[1]) + 1)
            looks.append((y, filled, *pixels[animal].mean(0) / 255))
    means = pd.DataFrame(looks, columns=["y", "filled", "red", "green", "blue"]).groupby("y").mean()
    between_look_alikes = np.ptp(means.loc[list(LOOK_ALIKES)].to_numpy(), axis=0)
    between_species = np.ptp(means.to_numpy(), axis=0)
    assert (between_look_alikes < (0.06, 0.12, 0.12, 0.12)).all(), means
    assert (between_species > 2 * between_look_alikes).all(), means


def test_masks_lie_in_their_boxes(entries: dict, masks: dict) -> None:
    assert masks
    for image_id, mask in masks.items():
        height, width = mask.shape
        for instance in np.unique(mask[mask > 0]):
            detection = entries[image_id][instance - 1]
            assert detection["conf"] >= 0.5
            x, y, w, h = detection["bbox"]
            rows, columns = (mask == instance).nonzero()
            assert x * width <= columns.min() + 1e-6
            assert y * height <= rows.min() + 1e-6
            assert (x + w) * width >= columns.max() + 1 - 1e-6
            assert (y + h) * height >= rows.max() + 1 - 1e-6
            assert w * width - 2 <= np.ptp(columns) + 1 + 1e-6


def test_masks_fit_the_animals(root: Path, metadata: pd.DataFrame, masks: dict) -> None:
    """Where the mask is, the picture differs from the camera's empty ones; elsewhere it hardly does."""
    inside, outside = [], []
    day = metadata[metadata.datetime.str[11:13].astype(int).between(10, 13)]
    for _, pictures in day.groupby("location_remapped"):
        load = {i: np.asarray(Image.open(root / f"iwildcam_v2.0/train/{i}.jpg"), float) for i in pictures.image_id}
        empty = [load[image_id] for image_id in pictures[pictures.y == 0].image_id]
        for image_id in pictures.image_id[pictures.image_id.isin(masks.keys())] if empty else ():
            mask = masks[image_id] > 0
            change = np.abs(load[image_id] - np.median(empty, axis=0)).mean(2)
            inside.append(change[mask].mean())
            outside.append(np.median(change[~mask]))
    assert len(inside) > 20
    assert np.mean(inside) > 2 * np.mean(outside)


def test_annotations_have_the_gaps_and_strangers_of_real_ones(
    metadata: pd.DataFrame, entries: dict, masks: dict
) -> None:
    animals = metadata[metadata.y > 0].image_id
    best = {image_id: entries[image_id][0]["conf"] for image_id in animals}
    without_mask = [image_id for image_id in animals if image_id not in masks]
    assert any(best[image_id] >= 0.5 for image_id in without_mask)
    assert any(best[image_id] < 0.5 for image_id in without_mask)
    assert not set(masks) & set(metadata[metadata.y == 0].image_id)
    assert set(entries) == set(metadata.image_id)
    second = {image_id: entries[image_id][1]["category"] for image_id in masks if masks[image_id].max() == 2}
    assert set(second.values()) == {"1", "2"}
    assert any(len(entries[image_id]) > masks[image_id].max() for image_id in masks)


def test_coordinates_of_most_cameras_lie_in_their_country(root: Path, metadata: pd.DataFrame) -> None:
    places = json.loads((root / "gps_locations.json").read_text())
    cameras = metadata.groupby("location_remapped").location.first()
    habitats = habitats_of(metadata).set_axis(cameras.astype(str))
    assert 0.5 <= len(places) / len(cameras) <= 0.8
    east = {0: (8, 15), 1: (34, 42), 2: (87, 120)}
    for location, place in places.items():
        low, high = east[habitats[location]]
        assert low < place["longitude"] < high
        assert (place["latitude"] > 40) == (habitats[location] == 2)


def test_the_same_seed_gives_the_same_bytes(tiny: Path, tmp_path: Path) -> None:
    make(tmp_path, seed=5)
    assert checksums(tmp_path) == checksums(tiny)


def test_a_miniature_is_replaced_only_when_asked_and_another_seed_gives_another(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path, dirs_exist_ok=True)
    with pytest.raises(DataError, match="--overwrite"):
        make(tmp_path, seed=6)
    assert checksums(tmp_path) == checksums(tiny)
    assert make(tmp_path, seed=6, overwrite=True) == tmp_path / "iwildcam_v2.0"
    assert not set(checksums(tmp_path).values()) & set(checksums(tiny).values())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in tiny.iterdir())


@pytest.mark.parametrize("part", ["iwildcam_v2.0/RELEASE_v2.0.txt", "instance_masks/a.png", "gps_locations.json"])
def test_real_data_is_never_replaced(tmp_path: Path, part: str) -> None:
    real = tmp_path / part
    real.parent.mkdir(exist_ok=True)
    real.write_text("v2.0")
    for overwrite in (False, True):
        with pytest.raises(DataError, match="another --root_dir"):
            make(tmp_path, overwrite=overwrite)
    assert list(checksums(tmp_path)) == [part]


def test_a_file_is_no_root(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file"):
        make(tmp_path / "file")


def test_a_failed_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = iter(range(7))

    def break_down(*arguments: Any) -> Snapshot:
        if next(snapshots) == 6:
            raise OSError("disk full")
        return take_snapshot(*arguments)

    monkeypatch.setattr("wilds_targeted.miniatures.iwildcam.take_snapshot", break_down)
    with pytest.raises(OSError, match="disk full"):
        make(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("train_cameras", 11),
        ("test_cameras", 0),
        ("images_per_camera", 19),
        ("images_per_unseen_camera", 7),
        ("width", 8),
        ("seed", -1),
    ],
)
def test_sizes_out_of_range_are_refused(tmp_path: Path, name: str, value: int) -> None:
    with pytest.raises(ParameterError, match=rf"{name} is {value}; .* to "):
        make(tmp_path / "new", **{name: value})
    assert not (tmp_path / "new").exists()


def test_the_command_says_what_it_wrote_and_what_to_try(tmp_path: Path) -> None:
    options = ["--root_dir", str(tmp_path), "--train-cameras", "12", "--val_cameras", "3", "--test-cameras", "3"]
    result = CliRunner().invoke(
        command, ["iwildcam", *options, *"--images-per-camera 20 --images_per_unseen_camera 25 --size 48 32".split()]
    )
    assert result.exit_code == 0, result.output
    assert "Wrote 390 images" in result.output
    assert "val 75, test 75" in result.output
    assert f"preview --dataset iwildcam --root_dir {tmp_path} --transform copypaste_samey" in result.output
    assert Image.open(next((tmp_path / "iwildcam_v2.0" / "train").iterdir())).size == (48, 32)
