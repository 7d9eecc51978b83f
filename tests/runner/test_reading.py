"""Images that are truncated, broken or gone."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from compare_outputs import assert_same_outputs
from PIL import Image, ImageFile

from wilds_targeted import get_dataset
from wilds_targeted.errors import DataError
from wilds_targeted.runner.loop import Loop
from wilds_targeted.runner.reading import Reader

WHOLE = ("--frac", "1.0", "--n_epochs", "1")


@pytest.fixture
def root(miniature: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    shutil.copytree(miniature, folder)
    return folder


def image_of(root: Path, split: str, position: int, *, empty: bool = False) -> tuple[int, Path]:
    """A row of a split, and its file."""
    metadata = pd.read_csv(root / "iwildcam_v2.0" / "metadata.csv")
    rows = metadata[(metadata.split == split) & ((metadata.y == 0) == empty)]
    row = int(rows.index[position])
    return row, root / "iwildcam_v2.0" / "train" / metadata.filename[row]


def truncate(path: Path) -> None:
    contents = path.read_bytes()
    path.write_bytes(contents[: int(len(contents) * 0.7)])


@pytest.mark.parametrize("workers", ["0", "2"])
def test_truncated_images_load_as_in_wilds_and_are_listed(
    workers: str, root: Path, train: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = [image_of(root, "train", 0), image_of(root, "test", 1)]
    for _, path in damaged:
        truncate(path)
    folder = train(*WHOLE, "--loader_kwargs", f"num_workers={workers}", root=root)
    with (folder / "truncated_examples.csv").open(newline="") as file:
        listed = {(int(line["row"]), line["file"]) for line in csv.DictReader(file)}
    assert listed == {(row, path.name) for row, path in damaged}
    assert capsys.readouterr().err.count("2 truncated images read as far as possible: ") == 1
    assert len((folder / "iwildcam_split:test_seed:0_epoch:last_pred.csv").read_text().splitlines()) == 60


def test_a_truncated_image_has_wilds_pixels(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row, path = image_of(root, "train", 0)
    truncate(path)
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    theirs = np.asarray(Image.open(path))
    reader = Reader(get_dataset("iwildcam", root_dir=root))
    assert np.array_equal(np.asarray(reader.read(row).x), theirs)
    assert reader.truncated_rows() == [row]
    reader.read(row + 1)
    assert reader.truncated_rows() == [row]


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize("damage", ["garbage", "empty", "gone"])
def test_an_unreadable_image_stops_the_run_with_one_line(
    damage: str, workers: str, root: Path, train: Callable
) -> None:
    row, path = image_of(root, "val", 2)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"garbage" if damage == "garbage" else b"")
    with pytest.raises(DataError) as caught:
        train(*WHOLE, "--loader_kwargs", f"num_workers={workers}", root=root)
    from wilds_targeted.errors import one_line

    message = one_line(caught.value)
    assert f"row {row} of iwildcam can't be read" in message
    assert path.name in message
    assert message.endswith("--on_bad_example skip.")


def test_skipped_images_are_left_out_counted_and_listed(
    root: Path, train: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = [image_of(root, "train", 3), image_of(root, "train", 1, empty=True), image_of(root, "test", 5)]
    for _, path in bad:
        path.write_bytes(b"garbage")
    truncate(image_of(root, "test", 7)[1])
    flags = [*WHOLE, "--on_bad_example", "skip", "--transform", "copypaste_all", "--loader_kwargs", "num_workers=1"]
    folder = train(*flags, root=root)
    with (folder / "skipped_examples.csv").open(newline="") as file:
        listed = {int(line["row"]): (line["split"], line["reason"]) for line in csv.DictReader(file)}
    assert {row: split for row, (split, _) in listed.items()} == {
        bad[0][0]: "train",
        bad[1][0]: "train",
        bad[2][0]: "test",
    }
    assert all("can't be read" in reason for _, reason in listed.values())
    assert len((folder / "iwildcam_split:test_seed:0_epoch:last_pred.csv").read_text().splitlines()) == 59
    said = capsys.readouterr().err
    assert "3 examples can't be read and are left out" in said
    assert "1 truncated image read as far as possible" in said


def test_skipping_nothing_changes_nothing(train: Callable) -> None:
    plain = train(*WHOLE, name="plain")
    skipping = train(*WHOLE, "--on_bad_example", "skip", name="skipping")
    assert (skipping / "skipped_examples.csv").read_text() == "row,split,reason\n"
    for name in ("val_eval.csv", "train_algo.csv", "iwildcam_split:test_seed:0_epoch:last_pred.csv"):
        assert (plain / name).read_bytes() == (skipping / name).read_bytes()


def test_what_was_found_before_a_kill_is_still_told(
    root: Path, train: Callable, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for position in range(40):
        truncate(image_of(root, "train", position)[1])
    undisturbed = train(*WHOLE, "--checkpoint_every", "0", name="undisturbed", root=root)
    original, batches = Loop._check_finite, iter(range(5))

    def check_finite(self: Loop, *arguments: Any) -> None:
        original(self, *arguments)
        if next(batches, None) is None:
            raise KeyboardInterrupt  # stands for the end of the process

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "_check_finite", check_finite)
        with pytest.raises(KeyboardInterrupt):
            train(*WHOLE, "--checkpoint_every", "0", name="stopped", root=root)
    capsys.readouterr()
    assert_same_outputs(undisturbed, train(*WHOLE, "--checkpoint_every", "0", "--resume", name="stopped", root=root))
    assert "40 truncated images read as far as possible" in capsys.readouterr().err


def test_a_resumed_run_knows_what_was_found_before(root: Path, train: Callable) -> None:
    truncate(image_of(root, "train", 0)[1])
    image_of(root, "val", 0)[1].write_bytes(b"garbage")
    flags = ["--frac", "1.0", "--on_bad_example", "skip"]
    undisturbed = train(*flags, "--n_epochs", "2", name="undisturbed", root=root)
    train(*flags, "--n_epochs", "1", name="short", root=root)
    resumed = train(*flags, "--n_epochs", "2", "--resume", name="short", root=root)
    log = resumed / "log.txt"
    log.write_text(log.read_text().replace("N epochs: 1", "N epochs: 2"))
    assert_same_outputs(undisturbed, resumed)
