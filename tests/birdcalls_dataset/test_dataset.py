"""The data set: the authors' bundle as it is, what our build writes, splits, labels, evaluation and broken copies."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import soundfile
import torch
from PIL import Image

from benchmarks.spectrogram import drawn, librosa_decibels
from birdcalls_dataset import BirdCallsDataset, facts
from birdcalls_dataset.facts import write_facts
from birdcalls_dataset.table import BUNDLE_COLUMNS
from wilds_targeted import get_dataset
from wilds_targeted.errors import DataError
from wilds_targeted.mends import mend_wilds

COUNTS = {"train": 8, "id_val": 4, "id_test": 5, "ood_train": 3, "ood_val": 2, "test": 4}
SPECIES = ("amecro", "empty", "norcar", "empty", "apapan")
"""In the order in which the table names them."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WILDS_TARGETED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def bundle_row(number: int, split: str) -> dict[str, Any]:
    species = SPECIES[number % len(SPECIES)]
    is_empty = species == "empty"
    return {
        "id": number,
        "split": split,
        "mel_img_path": f"mel/{number}.png",
        "audio_path": f"audio/{number}.wav",
        "Species eBird Code": species,
        "Location": 30 + number % 3 + (10 if split in ("ood_train", "ood_val", "test") else 0),
        "Call Low Freq (Hz)": "" if is_empty else 1000.4 + number,
        "Call High Freq (Hz)": "" if is_empty else 5000.0,
        "mel_bbox": "" if is_empty else "[0.1, 0.2, 0.3, 0.4]",
        "dataset": ("hawaii", "amazon", "hawaii")[number % 3],
    }


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small bundle in the authors' own form: no facts, numbers for microphones, pictures that are there already."""
    monkeypatch.setattr(facts, "PUBLISHED", COUNTS)
    folder = tmp_path / "birdcalls_v1.0"
    (folder / "mel").mkdir(parents=True)
    (folder / "audio").mkdir()
    splits = [split for split, count in COUNTS.items() for _ in range(count)]
    table = pd.DataFrame([bundle_row(number, split) for number, split in enumerate(splits)])
    assert tuple(table.columns) == BUNDLE_COLUMNS
    table.to_csv(folder / "combined.csv", index=False)
    (folder / "RELEASE_v1.0.txt").touch()
    rng = np.random.default_rng(0)
    for number in table["id"]:
        Image.fromarray(rng.integers(0, 256, (500, 500, 3), dtype=np.uint8)).save(folder / "mel" / f"{number}.png")
        soundfile.write(folder / "audio" / f"{number}.wav", rng.normal(0, 0.1, 16_000), 32_000)
    return tmp_path


def test_reads_the_authors_bundle(bundle: Path) -> None:
    dataset = BirdCallsDataset(root_dir=bundle)
    assert dataset.species == ["empty", "amecro", "norcar", "apapan"], "0 is empty, then in order of appearance, no gap"
    assert dataset.n_classes == 4
    assert dataset.y_array[:5].tolist() == [1, 0, 2, 0, 3]
    assert dataset.metadata_fields[:5] == ["microphone", "region", "low_freq", "high_freq", "y"]
    assert dataset.metadata_array[:2, :5].tolist() == [[0, 0, 1000, 5000, 1], [1, 1, 0, 0, 0]]
    assert dataset.metadata_map["microphone"][:3] == ["30", "31", "32"]
    assert dataset.get_box(0) == (0.1, 0.2, 0.3, 0.4)
    assert dataset.get_box(1) is None
    with Image.open(bundle / "birdcalls_v1.0" / "mel" / "0.png") as picture:
        assert np.array_equal(np.asarray(dataset.get_input(0)), np.asarray(picture))
    waveform, rate = dataset.get_audio(2)
    assert (waveform.shape, waveform.dtype, rate) == ((16_000,), np.float32, 32_000)


@pytest.mark.parametrize(
    ("scheme", "members"),
    [
        (
            "official",
            {"train": ["train"], "val": ["id_val"], "id_test": ["id_test"], "test": ["ood_train", "ood_val", "test"]},
        ),
        ("test-to-test-id", {"train": ["train"], "val": ["id_val"], "id_test": ["id_test"], "test": ["test"]}),
        ("test-to-test-ood", {"train": ["ood_train"], "val": ["ood_val"], "id_test": ["id_test"], "test": ["test"]}),
    ],
)
def test_split_schemes(scheme: str, members: dict[str, list[str]], bundle: Path) -> None:
    dataset = BirdCallsDataset(root_dir=bundle, split_scheme=scheme)
    table = pd.read_csv(bundle / "birdcalls_v1.0" / "combined.csv")
    assert set(dataset.split_dict) == set(members)
    for split, parts in members.items():
        rows = np.flatnonzero(table["split"].isin(parts))
        assert dataset.get_subset(split).indices.tolist() == rows.tolist()


def test_the_published_counts() -> None:
    counts = facts.PUBLISHED
    assert sum(counts.values()) == 4897
    assert (counts["train"], counts["id_val"], counts["id_test"]) == (2089, 407, 1677)
    assert counts["ood_train"] + counts["ood_val"] + counts["test"] == 724


def test_a_bundle_of_other_counts_wants_facts(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "PUBLISHED", {"train": 2089})
    with pytest.raises(DataError, match=r"has no facts\.json.*python -m birdcalls_dataset facts"):
        BirdCallsDataset(root_dir=bundle)
    write_facts(bundle / "birdcalls_v1.0")
    assert len(BirdCallsDataset(root_dir=bundle)) == sum(COUNTS.values())


def test_evaluation_by_hand(bundle: Path) -> None:
    mend_wilds()
    dataset = BirdCallsDataset(root_dir=bundle)
    rows = [0, 1, 2, 3, 4, 5]  # labels 1 0 2 0 3 1, microphones 30 31 32 30 31 32, of which 31 is in the Amazon
    y_true, metadata = dataset.y_array[rows], dataset.metadata_array[rows]
    y_pred = torch.tensor([1, 0, 2, 2, 1, 1])
    results, text = dataset.eval(y_pred, y_true, metadata)
    assert results["acc_avg"] == pytest.approx(4 / 6)
    # recall of 0: 1/2, of 1: 2/2, of 2: 1/1, of 3: 0
    assert results["recall-macro_all"] == pytest.approx((0.5 + 1 + 1 + 0) / 4)
    # F1 of 0: 2/3 (precision 1), of 1: 4/5 (precision 2/3), of 2: 2/3 (precision 1/2), of 3: 0
    assert results["F1-macro_all"] == pytest.approx((2 / 3 + 4 / 5 + 2 / 3 + 0) / 4)
    assert results["acc_microphone:30"] == pytest.approx(1 / 2)
    assert results["count_microphone:31"] == 2
    assert results["acc_region:hawaii"] == pytest.approx(3 / 4)
    assert results["recall-macro_region:amazon"] == pytest.approx((1 + 0) / 2)
    assert results["F1-macro_region:hawaii"] == pytest.approx((0 + 1 + 2 / 3) / 3)
    assert "region = hawaii" in text


def test_what_our_build_writes(built: Path) -> None:
    dataset = get_dataset("birdcalls", root_dir=built.parent)
    assert dataset.metadata_map["region"] == ["Southwest Amazon Basin", "Northeastern United States", "Hawaii"]
    row = int(np.flatnonzero(np.asarray(dataset.y_array))[0])
    waveform, rate = dataset.get_audio(row)
    assert (len(waveform), rate) == (160_000, 32_000)
    picture = dataset.get_input(row)
    difference = (np.asarray(picture) != drawn(librosa_decibels(waveform))).any(-1)
    assert difference.mean() < 1e-3
    kept = list(built.glob("spectrograms-*.bin"))
    assert len(kept) == 1
    assert np.array_equal(np.asarray(dataset.get_input(row)), np.asarray(picture)), "from disk, the same"
    kept[0].write_bytes(bytes(kept[0].stat().st_size))
    assert np.array_equal(np.asarray(dataset.get_input(row)), np.asarray(picture)), "broken on disk, computed anew"


def test_data_of_others_are_kept_elsewhere(built: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path != built)
    dataset = BirdCallsDataset(root_dir=built.parent)
    picture = dataset.get_input(2)
    assert [path.name for path in (cache / "spectrograms").iterdir()] == [dataset._store.path.name]
    assert not list(built.glob("spectrograms-*"))
    assert np.array_equal(np.asarray(dataset.get_input(2)), np.asarray(picture))


def test_a_kept_spectrogram_saves_the_sound(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = get_dataset("birdcalls", root_dir=built.parent)
    first = np.asarray(dataset.get_input(5))

    def no_sound(row: int) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(dataset, "get_audio", no_sound)
    assert np.array_equal(np.asarray(dataset.get_input(5)), first)
    with pytest.raises(AssertionError, match="read again"):
        dataset.get_input(6)


@pytest.fixture
def built(birdcalls_miniature: Path, tmp_path: Path) -> Path:
    """A copy to break."""
    ignored = shutil.ignore_patterns("spectrograms-*")
    return Path(shutil.copytree(birdcalls_miniature, tmp_path / "copy", ignore=ignored)) / "birdcalls_v1.0"


def edit_table(folder: Path, change: Callable[[pd.DataFrame], pd.DataFrame | None]) -> None:
    table = pd.read_csv(folder / "combined.csv", dtype=str, keep_default_na=False)
    changed = change(table)
    (table if changed is None else changed).to_csv(folder / "combined.csv", index=False)


def test_a_changed_table_is_refused(built: Path) -> None:
    edit_table(built, lambda table: table.iloc[:-1])
    with pytest.raises(DataError, match=r"is not the one that facts\.json tells of: sha256"):
        BirdCallsDataset(root_dir=built.parent)


NAMES = ["clips", "splits", "microphones", "regions", "classes", "seconds", "sampling_rates"]


@pytest.mark.parametrize("name", NAMES)
def test_facts_that_do_not_hold_are_refused(name: str, built: Path) -> None:
    path = built / "facts.json"
    told = json.loads(path.read_text())
    told[name] = 1 if name == "clips" else {"5": 1}
    path.write_text(json.dumps(told))
    with pytest.raises(DataError, match=rf"tells of: {name}"):
        BirdCallsDataset(root_dir=built.parent)


@pytest.mark.parametrize("change", [{"sampling_rates": None}, {"seconds": {"long": 1}}, {"more": 1}, None])
def test_a_broken_file_of_facts(change: dict[str, Any] | None, built: Path) -> None:
    path = built / "facts.json"
    path.write_text("{" if change is None else json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match="is not a file of facts"):
        BirdCallsDataset(root_dir=built.parent)


def wrong(column: str, value: str, row: int = 3) -> Callable[[pd.DataFrame], None]:
    def change(table: pd.DataFrame) -> None:
        table.loc[row, column] = value

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (wrong("split", "training"), r"row 5: split must be one of train, id_val, .* got 'training'"),
        (wrong("Species eBird Code", ""), "row 5: there must be a species"),
        (wrong("Location", ""), "row 5: there must be a microphone"),
        (wrong("audio_path", ""), "row 5: there is neither picture nor sound"),
        (
            wrong("Call Low Freq (Hz)", "deep"),
            r"row 5: Call Low Freq \(Hz\) must be a number of hertz, or empty, got 'deep'",
        ),
        (wrong("Call High Freq (Hz)", "1e30"), r"row 5: Call High Freq \(Hz\) must be a number of hertz"),
        (wrong("dataset", ""), "row 5: there must be a region"),
        (lambda table: table.assign(id="7"), "row 3: an id must not be repeated, got '7'"),
        (wrong("audio_path", "/etc/passwd"), "row 5: audio_path must lie in the data set's own folder"),
        (wrong("mel_img_path", "../../secret.png"), "row 5: mel_img_path must lie in the data set's own folder"),
        (wrong("mel_bbox", "[1e999, 0, 1, 1]"), "row 5: a call's box must be four numbers"),
        (wrong("mel_bbox", "[10, 20, 30, 40]"), "row 5: .*as shares of the picture"),
        (wrong("mel_bbox", "[0.1, 0.2, -0.3, 0.4]"), "row 5: .*as shares of the picture"),
        (wrong("mel_bbox", "[1, 2]"), r"row 5: a call's box must be four numbers .* got '\[1, 2\]'"),
        (wrong("mel_bbox", "__import__('os')"), "row 5: a call's box must be four numbers"),
        (wrong("audio_path", "audio/gone.flac"), r"row 5: .*gone\.flac is not there"),
        (lambda table: table.drop(columns="dataset"), "has no column 'dataset'"),
        (lambda table: table.rename(columns={"Location": "Locations"}), "did you mean 'Locations'"),
        (lambda table: table.iloc[:0], "has no rows"),
    ],
)
def test_a_wrong_row_is_named(
    change: Callable[[pd.DataFrame], Any], told: str, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_table(built, change)
    monkeypatch.setattr(facts, "_counted", lambda folder, table: {})
    with pytest.raises(DataError, match=told):
        BirdCallsDataset(root_dir=built.parent)


def test_a_changed_clip_is_named(built: Path) -> None:
    dataset = BirdCallsDataset(root_dir=built.parent)
    path = built / dataset._sounds[4]
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=rf"{path.name}: the clip's checksum"):
        dataset.get_input(4)


def test_a_clip_of_another_sampling_rate(bundle: Path) -> None:
    folder = bundle / "birdcalls_v1.0"
    write_facts(folder)
    dataset = BirdCallsDataset(root_dir=bundle)
    soundfile.write(folder / "audio" / "0.wav", np.zeros(100), 8000)
    with pytest.raises(DataError, match=r"sampled at 8000 Hz, where facts\.json tells \{'32000': 26\}"):
        dataset.get_audio(0)


def test_a_clip_of_another_length(bundle: Path) -> None:
    folder = bundle / "birdcalls_v1.0"
    write_facts(folder)
    dataset = BirdCallsDataset(root_dir=bundle)
    soundfile.write(folder / "audio" / "0.wav", np.zeros(100), 32_000)
    with pytest.raises(DataError, match=r"0\.003 s long, where facts\.json tells \{'0\.5': 26\}"):
        dataset.get_audio(0)


def test_without_checksums_nothing_is_kept(built: Path) -> None:
    edit_table(built, lambda table: table.drop(columns="audio_crc32"))
    write_facts(built)
    dataset = BirdCallsDataset(root_dir=built.parent)
    assert dataset.get_input(0).size == (500, 500)
    assert not list(built.glob("spectrograms-*"))


def test_rows_are_counted_as_lists_count(birdcalls_miniature: Path) -> None:
    dataset = get_dataset("birdcalls", root_dir=birdcalls_miniature)
    assert np.array_equal(np.asarray(dataset.get_input(-1)), np.asarray(dataset.get_input(len(dataset) - 1)))
    with pytest.raises(IndexError):
        dataset.get_input(len(dataset))


def test_microphones_that_two_regions_number_alike(bundle: Path) -> None:
    edit_table(bundle / "birdcalls_v1.0", lambda table: table.assign(Location=["1", "1", "2"] * 8 + ["1", "9"]))
    dataset = BirdCallsDataset(root_dir=bundle)
    assert sorted(dataset.metadata_map["microphone"]) == ["2", "9", "amazon 1", "hawaii 1"]
    microphones, regions = dataset.metadata_array[:, 0].tolist(), dataset.metadata_array[:, 1].tolist()
    assert all(len({r for m, r in zip(microphones, regions, strict=True) if m == each}) == 1 for each in range(4))


def test_a_scheme_without_validation(built: Path) -> None:
    with pytest.raises(DataError, match=r"no clip is in ood_val, so the split scheme 'test-to-test-ood'"):
        BirdCallsDataset(root_dir=built.parent, split_scheme="test-to-test-ood")


def test_unknown_schemes_and_missing_data(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are official, test-to-test-id, test-to-test-ood"):
        BirdCallsDataset(root_dir=tmp_path, split_scheme="combined")
    with pytest.raises(DataError, match="wilds-targeted miniature birdcalls"):
        get_dataset("birdcalls", root_dir=tmp_path)
    (tmp_path / "birdcalls_v1.0").mkdir()
    (tmp_path / "birdcalls_v1.0" / "RELEASE_v1.0.txt").touch()
    with pytest.raises(DataError, match=r"combined\.csv is not there: expected is the table"):
        get_dataset("birdcalls", root_dir=tmp_path)
