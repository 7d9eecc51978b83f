"""The miniature Camelyon17: WILDS reads it, and the world is what its documentation says."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from PIL import Image

import wilds_targeted
from wilds_targeted.cli.miniature import command
from wilds_targeted.errors import DataError, ParameterError
from wilds_targeted.miniatures._hospitals import (
    TRAIN_CENTERS,
    Patch,
    cut_patches,
    found_hospitals,
    paint_patch,
    scan_patch,
    stain_of,
)
from wilds_targeted.miniatures._staining import OD_VECTORS, REFERENCE, Stain
from wilds_targeted.miniatures._tissue import Arrangement, Morphology
from wilds_targeted.miniatures.camelyon17 import write_camelyon17

TINY = {"train_patches": 40, "id_val_patches": 8, "val_patches": 20, "test_patches": 20}
WORLDS = (0, 1, 2)


def make(root: Path, **changes: int | bool) -> Path:
    return write_camelyon17(root, progress=False, **(TINY | changes))


def checksums(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def metadata(camelyon_miniature: Path) -> pd.DataFrame:
    return pd.read_csv(camelyon_miniature / "camelyon17_v1.0" / "metadata.csv", index_col=0, dtype={"patient": str})


def nuclear_radius(section: np.ndarray) -> float:
    """The nuclei's typical half-width, from their area and the length of their edges."""
    nuclei = section[..., 0] > 0.6
    edges = (nuclei[1:] != nuclei[:-1]).sum() + (nuclei[:, 1:] != nuclei[:, :-1]).sum()
    return float(2 * nuclei.sum() / edges)


def test_wilds_own_class_loads_it(camelyon_miniature: Path, metadata: pd.DataFrame) -> None:
    dataset = wilds_targeted.get_dataset("camelyon17", root_dir=camelyon_miniature)
    assert type(dataset).__module__ == "wilds.datasets.camelyon17_dataset"
    assert len(dataset) == len(metadata) == 3 * 48 + 20 + 20
    hospitals = {"train": {0, 3, 4}, "id_val": {0, 3, 4}, "val": {1}, "test": {2}}
    for split, count in {"train": 120, "id_val": 24, "val": 20, "test": 20}.items():
        subset = dataset.get_subset(split)
        assert len(subset) == count
        assert set(subset.metadata_array[:, 0].tolist()) == hospitals[split]
        image, y, meta = subset[0]
        assert (image.mode, image.size) == ("RGB", (96, 96))
        assert meta[dataset.metadata_fields.index("y")] == y
    results, _ = dataset.eval(dataset.y_array, dataset.y_array, dataset.metadata_array)
    assert results["acc_avg"] == 1


def test_the_mixed_to_test_scheme_moves_slide_23(camelyon_miniature: Path) -> None:
    mixed = wilds_targeted.get_dataset("camelyon17", root_dir=camelyon_miniature, split_scheme="mixed-to-test")
    slides = mixed.metadata_array[:, mixed.metadata_fields.index("slide")]
    assert set(mixed.split_array[(slides == 23).numpy()]) == {mixed.split_dict["train"]}
    assert len(mixed.get_subset("train")) == 120 + 2
    assert len(mixed.get_subset("test")) == 20 - 2


def test_the_table_has_the_columns_of_the_release(camelyon_miniature: Path, metadata: pd.DataFrame) -> None:
    text = (camelyon_miniature / "camelyon17_v1.0" / "metadata.csv").read_text()
    assert text.startswith(",patient,node,x_coord,y_coord,tumor,slide,center,split\n0,0")
    assert metadata.patient.str.fullmatch(r"\d{3}").all()
    assert (metadata.patient.astype(int) // 20 == metadata.center).all()
    assert (metadata[["x_coord", "y_coord"]] % 32 == 0).all(axis=None)
    assert not metadata.duplicated(["patient", "node", "x_coord", "y_coord"]).any()


def test_slides_are_numbered_as_in_the_release(metadata: pd.DataFrame) -> None:
    assert sorted(metadata.slide.unique()) == list(range(50))
    assert (metadata.slide // 10 == metadata.center).all()
    assert (metadata.groupby("slide")[["patient", "node"]].nunique() == 1).all(axis=None)


def test_every_hospital_and_split_and_slide_is_balanced(metadata: pd.DataFrame) -> None:
    for groups in (["center", "split"], ["center", "slide"]):
        assert (metadata.groupby(groups).tumor.mean() == 0.5).all()
    held_out = metadata[metadata.split == 1]
    assert set(held_out.center) == set(TRAIN_CENTERS)
    assert held_out.slide.nunique() > 12


def test_concentrations_become_light_by_the_law() -> None:
    """Hand-computed: white * exp(-concentration * vector)."""
    stain = Stain(np.array([[0.6, 0.8, 0.0], [0.0, 0.6, 0.8]]), np.array([2, 1]), np.array([0, 0.5]), np.full(3, 0.9))
    light = stain.render(np.array([[[0.5, 0.5], [0.0, 0.0]]], np.float32))
    assert light[0, 0] == pytest.approx(0.9 * np.exp([-0.6, -1.4, -0.8]), rel=1e-5)
    assert light[0, 1] == pytest.approx(0.9 * np.exp([0, -0.3, -0.4]), rel=1e-5)


def test_hematoxylin_is_blue_and_eosin_is_pink() -> None:
    assert np.allclose(REFERENCE.vectors * np.linalg.norm(OD_VECTORS, axis=1, keepdims=True), OD_VECTORS)
    blue, pink = REFERENCE.render(np.array([[1.0, 0.0], [0.0, 1.0]], np.float32))
    assert blue.argmax() == 2
    assert pink.argmin() == 1


def test_what_was_painted_can_be_recovered_from_the_colours() -> None:
    hospital = found_hospitals(0)[3]
    patch = next(cut_patches(0, hospital, 20))
    section = paint_patch(0, patch)
    stain = stain_of(patch, np.random.default_rng(0))
    assert np.allclose(stain.recover(stain.render(section)), section, atol=1e-4)


def test_a_scanned_patch_shows_what_was_painted() -> None:
    """Through focus, noise and rounding, with the reference stain."""
    for patch in cut_patches(0, found_hospitals(0)[0], 20):
        section = paint_patch(0, patch)
        found = REFERENCE.recover(np.asarray(scan_patch(0, patch, REFERENCE), np.float32) / 255)
        for which in (0, 1):
            assert found[..., which].mean() == pytest.approx(section[..., which].mean(), abs=0.06)
        assert np.corrcoef(found[..., 0].ravel(), section[..., 0].ravel())[0, 1] > 0.8


@pytest.mark.parametrize("seed", WORLDS)
def test_stain_leans_on_the_label_in_training_hospitals_only(seed: int) -> None:
    """The same painted section, stained as tumour and as normal tissue: how far apart are the colours?"""
    differences = {}
    for hospital in found_hospitals(seed):
        patches = list(cut_patches(seed, hospital, 400))
        section = paint_patch(seed, patches[0])
        rng = np.random.default_rng(0)
        colours = np.array([stain_of(patch, rng).render(section).mean((0, 1)) for patch in patches])
        tumor = np.array([patch.tumor for patch in patches])
        differences[hospital.center] = colours[tumor].mean(0) - colours[~tumor].mean(0)
    training = np.array([differences[center] for center in TRAIN_CENTERS])
    trend = training.mean(0) / np.linalg.norm(training.mean(0))
    # Tumour lets less red through: it is bluer, by several standard errors (0.002) even where the lean is weakest.
    assert (training[:, 0] < -0.008).all(), training
    assert max(differences[center] @ trend for center in (1, 2)) < 0.7 * (training @ trend).min()


@pytest.mark.parametrize("seed", WORLDS)
def test_nuclei_tell_the_classes_apart_whatever_the_stain(seed: int) -> None:
    """In every hospital, measured on unstained sections: of two patches of one stage, the tumour has larger nuclei."""
    for hospital in found_hospitals(seed):
        radii: dict[tuple[int, bool], list[float]] = {}
        for patch in cut_patches(seed, hospital, 120):
            radii.setdefault((patch.slide.stage, patch.tumor), []).append(nuclear_radius(paint_patch(seed, patch)))
        pairs = [np.greater.outer(radii[stage, True], radii[stage, False]).ravel() for stage in range(3)]
        # Chance is 0.5. Nuclei that touch are measured as one, which blurs the measure in crowded tissue.
        assert 0.75 < np.concatenate(pairs).mean() < 1, hospital.center


def test_a_nucleus_or_an_arrangement_means_another_label_at_another_stage() -> None:
    """Late normal nuclei are as large as early tumour's; a hollow is tumour early and normal late."""
    rng = np.random.default_rng(0)
    draws = {
        (tumor, stage): [Morphology.draw(rng, tumor=tumor, stage=stage) for _ in range(400)]
        for tumor in (False, True)
        for stage in range(3)
    }
    radius = {key: np.mean([each.radius for each in kind]) for key, kind in draws.items()}
    assert radius[False, 2] == pytest.approx(radius[True, 0], abs=0.25)
    hollow = {key: np.mean([each.arrangement is Arrangement.HOLLOW for each in kind]) for key, kind in draws.items()}
    assert hollow[True, 0] > 2 * hollow[False, 0]
    assert hollow[False, 2] > 2 * hollow[True, 2]


def test_hospitals_differ_in_stage_and_each_has_all() -> None:
    for seed in WORLDS:
        shares = [tuple(np.bincount([s.stage for s in h.slides], minlength=3)) for h in found_hospitals(seed)]
        assert min(min(share) for share in shares) >= 1
        assert len(set(shares)) >= 3


def test_a_patch_does_not_depend_on_the_others() -> None:
    patches = list(cut_patches(4, found_hospitals(4)[0], 20, 4))
    alone = np.asarray(scan_patch(4, patches[7]))
    for patch in reversed(patches):
        again = np.asarray(scan_patch(4, patch))
        if patch is patches[7]:
            assert np.array_equal(again, alone)


def test_the_same_seed_gives_the_same_bytes(camelyon_miniature: Path, tmp_path: Path) -> None:
    make(tmp_path)
    assert checksums(tmp_path) == checksums(camelyon_miniature)


def test_a_miniature_is_replaced_only_when_asked_and_another_seed_gives_another(
    camelyon_miniature: Path, tmp_path: Path
) -> None:
    shutil.copytree(camelyon_miniature, tmp_path, dirs_exist_ok=True)
    with pytest.raises(DataError, match=r"Camelyon17 already.*--overwrite"):
        make(tmp_path, seed=1)
    assert checksums(tmp_path) == checksums(camelyon_miniature)
    assert make(tmp_path, seed=1, overwrite=True) == tmp_path / "camelyon17_v1.0"
    assert not set(checksums(tmp_path).values()) & set(checksums(camelyon_miniature).values())
    assert [path.name for path in tmp_path.iterdir()] == ["camelyon17_v1.0"]


def test_two_miniatures_share_a_root(miniature: Path, tmp_path: Path) -> None:
    shutil.copytree(miniature, tmp_path, dirs_exist_ok=True)
    make(tmp_path)
    assert checksums(miniature).items() <= checksums(tmp_path).items()


@pytest.mark.parametrize("part", ["RELEASE_v1.0.txt", "metadata.csv"])
def test_real_data_is_never_replaced(tmp_path: Path, part: str) -> None:
    real = tmp_path / "camelyon17_v1.0" / part
    real.parent.mkdir()
    real.write_text("v1.0")
    for overwrite in (False, True):
        with pytest.raises(DataError, match="another --root_dir"):
            make(tmp_path, overwrite=overwrite)
    assert list(checksums(tmp_path)) == [f"camelyon17_v1.0/{part}"]


@pytest.mark.parametrize("former", [False, True])
def test_a_failed_run_leaves_what_was_there(
    camelyon_miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, former: bool
) -> None:
    if former:
        shutil.copytree(camelyon_miniature, tmp_path, dirs_exist_ok=True)
    before = checksums(tmp_path)
    scans = iter(range(7))

    def break_down(seed: int, patch: Patch) -> Any:
        if next(scans) == 6:
            raise OSError("disk full")
        return scan_patch(seed, patch)

    monkeypatch.setattr("wilds_targeted.miniatures.camelyon17.scan_patch", break_down)
    with pytest.raises(OSError, match="disk full"):
        make(tmp_path, seed=1, overwrite=True)
    assert checksums(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["camelyon17_v1.0"] * former


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("train_patches", 18, "20 to"),
        ("id_val_patches", 0, "2 to"),
        ("val_patches", 18, "20 to"),
        ("test_patches", 10**6, "to 100000"),
        ("test_patches", 21, "even"),
        ("seed", -1, "0 to"),
    ],
)
def test_numbers_out_of_range_are_refused(tmp_path: Path, name: str, value: int, why: str) -> None:
    with pytest.raises(ParameterError, match=rf"{name} is {value}; .*{why}"):
        make(tmp_path / "new", **{name: value})
    assert not (tmp_path / "new").exists()


def test_the_command_says_what_it_wrote_and_what_to_try(tmp_path: Path) -> None:
    options = "--train-patches 20 --id_val_patches 4 --val-patches 22 --test_patches 24 --seed 2".split()
    result = CliRunner().invoke(command, ["camelyon17", "--root_dir", str(tmp_path), *options])
    assert result.exit_code == 0, result.output
    assert "Wrote 118 images" in result.output
    assert "train 60, id_val 12, val 22, test 24" in result.output
    assert f"preview --dataset camelyon17 --root_dir {tmp_path} --transform stain_color_jitter" in result.output
    patch = next((tmp_path / "camelyon17_v1.0" / "patches").rglob("*.png"))
    assert Image.open(patch).size == (96, 96)
