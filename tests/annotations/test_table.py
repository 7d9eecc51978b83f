from __future__ import annotations

import json
import logging
import os
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wilds_targeted.annotations import cache, table
from wilds_targeted.annotations.cache import CACHE_NAME
from wilds_targeted.annotations.detections import Category
from wilds_targeted.annotations.locate import AnnotationFiles, locate
from wilds_targeted.annotations.table import AnnotationTable, Counts
from wilds_targeted.errors import AnnotationError, DataError, ParameterError

HEADER = "split,filename,image_id,y,location,location_remapped"
ROWS = [
    "train,cow.jpg,cow,1,100,0",
    "train,fox.jpg,fox,2,7,1",
    "test,man.jpg,man,3,100,0",
    "test,gap.jpg,gap,0,,2",
]


def detection(confidence: float, category: str = "1", box: tuple[float, ...] = (0, 0, 1, 1)) -> dict[str, Any]:
    return {"bbox": list(box), "conf": confidence, "category": category}


IMAGES = [  # in another order than the rows, with an image that is no row; 'gap' is missing
    {"id": "man", "detections": [detection(0.9, "2"), detection(0.3)]},
    {"id": "stray", "detections": [detection(0.9)]},
    {
        "id": "cow",
        "detections": [
            detection(0.05),
            detection(0.5, box=(0.25, 0.5, 0.125, 0.0625)),
            detection(0.09),
            detection(0.49999),
            detection(0.95, "2"),
            detection(1.0, "3", box=(0.0, 0.0, 1.0, 0.5)),
        ],
    },
    {"id": "fox", "detections": []},
]


@pytest.fixture(autouse=True)
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's cache folder of the test's own, outside the data root."""
    folder = tmp_path / "user_cache"
    monkeypatch.setenv("WILDS_TARGETED_CACHE", str(folder))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    masks = root / "instance_masks"
    masks.mkdir(parents=True)
    for name in ("cow.png", "man.png", "stray.png", "fox.txt"):
        (masks / name).touch()
    (root / "megadetector_results.json").write_text(json.dumps({"images": IMAGES}))
    (root / "metadata.csv").write_text("\n".join([HEADER, *ROWS, ""]))
    return root


def opened(root: Path, **options: Any) -> AnnotationTable:
    return AnnotationTable.open(root / "metadata.csv", locate(root), **options)


def cannot_build(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object) -> None:
        raise AssertionError("built, not taken from the cache")

    monkeypatch.setattr(table, "build_arrays", build)


def assert_same(one: AnnotationTable, other: AnnotationTable) -> None:
    for name in ("image_id", "location", "has_mask", "listed", "offsets", "ordinal", "category", "confidence", "box"):
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


class TestContent:
    def test_columns(self, root: Path) -> None:
        made = opened(root)
        assert len(made) == 4
        assert made.image_id.tolist() == [b"cow", b"fox", b"man", b"gap"]
        assert made.location.tolist() == [b"100", b"7", b"100", b""]
        assert made.has_mask.tolist() == [True, False, True, False]
        assert made.listed.tolist() == [6, 0, 2, -1]
        assert made.has_detections

    def test_detections_of_at_least_a_tenth_keep_their_ordinals(self, root: Path) -> None:
        made = opened(root)
        assert made.offsets.tolist() == [0, 4, 4, 6, 6]
        assert made.ordinal.tolist() == [2, 4, 5, 6, 1, 2]
        assert made.category.tolist() == [
            Category.ANIMAL,
            Category.ANIMAL,
            Category.PERSON,
            Category.VEHICLE,
            Category.PERSON,
            Category.ANIMAL,
        ]
        # 0.5 * 65536; 0.49999 * 65536 = 32767.3; 0.95 * 65536 = 62259.2; 1 clipped; 0.9 * 65536 = 58982.4; 0.3: 19660.8
        assert made.confidence.tolist() == [32768, 32767, 62259, 65535, 58982, 19660]
        assert made.box[0].tolist() == [16384, 32768, 8192, 4096]
        assert made.box[3].tolist() == [0, 0, 65535, 32768]

    def test_types(self, root: Path) -> None:
        made = opened(root)
        types = [made.listed.dtype, made.offsets.dtype, made.ordinal.dtype, made.category.dtype, made.box.dtype]
        assert types == [np.int16, np.int64, np.uint8, np.uint8, np.uint16]
        assert (made.has_mask.dtype, made.confidence.dtype) == (np.bool_, np.uint16)

    def test_instances_are_confident_and_no_persons(self, root: Path) -> None:
        made = opened(root)
        assert made.instances(0, 0.5).tolist() == [2, 6]
        assert made.instances(0, 0.4).tolist() == [2, 4, 6]
        assert made.instances(0, 1).tolist() == [6]
        assert made.instances(2, 0.5).tolist() == []
        assert made.instances(2, 0.3).tolist() == [2]
        assert made.instances(1, 0.1).tolist() == made.instances(3, 0.1).tolist() == []
        assert made.instances(0, 0.5).dtype == np.uint8

    def test_boxes_of_the_same(self, root: Path) -> None:
        made = opened(root)
        expected = [[0.25, 0.5, 0.125, 0.0625], [0, 0, 1, 0.5]]
        np.testing.assert_allclose(made.boxes(0, 0.5), expected, atol=0.5 / 65535)
        assert made.boxes(1, 0.5).shape == made.boxes(2, 0.5).shape == (0, 4)

    def test_mask_paths(self, root: Path) -> None:
        made = opened(root)
        assert made.mask_path(0) == root / "instance_masks" / "cow.png"
        assert made.mask_path(1) is None
        assert made.mask_path(3) is None

    def test_counts(self, root: Path) -> None:
        (root / "instance_masks" / "cow.png").unlink()
        made = opened(root)
        everything = np.arange(4)
        assert made.counts(everything, 0.5) == Counts(masks=0, boxes=1, neither=3)
        assert made.counts(everything, 0.3) == (1, 1, 2)
        assert made.counts(np.array([2, 3]), 0.3) == (1, 0, 1)
        assert made.counts(np.array([True, False, False, True]), 0.3) == (0, 1, 1)
        assert made.counts(np.array([], np.int64), 0.3) == (0, 0, 0)

    @pytest.mark.parametrize("confidence", [0.05, 1.5, float("nan")])
    def test_a_confidence_that_the_table_cannot_answer(self, root: Path, confidence: float) -> None:
        made = opened(root)
        for ask in (made.instances, made.boxes):
            with pytest.raises(ParameterError, match=rf"^min_confidence={confidence}: allowed is .* from 0\.1 to 1"):
                ask(0, confidence)
        with pytest.raises(ParameterError, match=r"^min_confidence="):
            made.counts(np.arange(4), confidence)

    def test_it_pickles(self, root: Path) -> None:
        for made in (opened(root), opened(root)):  # built, and from the cache
            copy = pickle.loads(pickle.dumps(made))
            assert_same(made, copy)
            assert copy.mask_path(0) == made.mask_path(0)

    def test_the_files_own_categories(self, root: Path) -> None:
        names = {"1": "person", "2": "animal"}
        (root / "megadetector_results.json").write_text(json.dumps({"images": IMAGES, "detection_categories": names}))
        made = opened(root)
        assert made.instances(0, 0.5).tolist() == [5, 6]
        assert made.category[3] == Category.OTHER

    def test_an_image_in_two_rows(self, root: Path) -> None:
        (root / "metadata.csv").write_text("\n".join([HEADER, *ROWS, ROWS[0]]))
        made = opened(root)
        assert made.instances(4, 0.5).tolist() == made.instances(0, 0.5).tolist() == [2, 6]


class TestWhatIsMissing:
    def test_no_detections_file(self, root: Path) -> None:
        (root / "megadetector_results.json").unlink()
        made = opened(root)
        assert not made.has_detections
        assert made.listed.tolist() == [-1, -1, -1, -1]
        assert made.instances(0, 0.5).tolist() == []
        assert made.boxes(0, 0.5).shape == (0, 4)
        assert made.counts(np.arange(4), 0.5) == (2, 0, 2)

    def test_no_masks(self, root: Path) -> None:
        shutil.rmtree(root / "instance_masks")
        made = opened(root)
        assert made.mask_path(0) is None
        assert made.counts(np.arange(4), 0.5) == (0, 1, 3)

    def test_no_rows(self, root: Path) -> None:
        (root / "metadata.csv").write_text(HEADER)
        for made in (opened(root), opened(root)):
            assert len(made) == 0
            assert made.counts(np.arange(0), 0.5) == (0, 0, 0)

    def test_substitute_columns(self, root: Path) -> None:
        (root / "metadata.csv").write_text("filename,location_remapped\ntrain/cow.jpg,5\nfox.v2.jpg,6\n")
        made = opened(root)
        assert made.image_id.tolist() == [b"cow", b"fox.v2"]
        assert made.location.tolist() == [b"5", b"6"]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("y,location\n", "no column 'image_id' nor 'filename'; its columns are: y, location"),
            ("image_id,y\n", "no column 'location' nor 'location_remapped'; its columns are: image_id, y"),
            ("", "no column 'image_id' nor 'filename'; its columns are: nothing"),
            ("image_id,location\na,1\nb\n", "line 3: got 1 fields; expected 2, as in its header"),
        ],
    )
    def test_a_wrong_metadata_file(self, root: Path, content: str, message: str) -> None:
        path = root / "metadata.csv"
        path.write_text(content)
        with pytest.raises(DataError) as caught:
            opened(root)
        assert str(caught.value) == f"{path}: {message}"

    def test_a_metadata_file_that_is_no_text(self, root: Path) -> None:
        (root / "metadata.csv").write_bytes(b"image_id,location\n\xff\xfe,1\n")
        with pytest.raises(DataError, match=r"metadata\.csv: not a CSV file in UTF-8 \("):
            opened(root)

    @pytest.mark.parametrize("name", ["metadata.csv", "megadetector_results.json", "instance_masks"])
    def test_absent_files_are_named(self, root: Path, name: str) -> None:
        files = locate(root)
        (root / name).rename(root / "elsewhere")
        with pytest.raises(DataError) as caught:
            AnnotationTable.open(root / "metadata.csv", files)
        assert str(caught.value) == f"{root / name}: cannot be read (No such file or directory)"
        assert isinstance(caught.value, AnnotationError) == (name != "metadata.csv")

    def test_a_masks_folder_that_is_a_file(self, root: Path) -> None:
        files = AnnotationFiles(masks=root / "metadata.csv")
        with pytest.raises(AnnotationError, match=r"metadata\.csv: cannot be listed \(Not a directory\)$"):
            AnnotationTable.open(root / "metadata.csv", files)


class TestCache:
    def test_a_hit(self, root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        made = opened(root)
        assert sorted(path.name for path in root.iterdir() if path.is_file()) == sorted(
            [CACHE_NAME, "megadetector_results.json", "metadata.csv"]
        )
        cannot_build(monkeypatch)
        loaded = opened(root)
        assert_same(made, loaded)
        assert loaded.offsets.flags.aligned
        assert loaded.box.flags.aligned
        assert caplog.messages == []

    def test_a_moved_root(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made = opened(root)
        moved = root.rename(root.with_name("moved"))
        cannot_build(monkeypatch)
        loaded = opened(moved)
        assert_same(made, loaded)
        assert loaded.mask_path(0) == moved / "instance_masks" / "cow.png"

    @pytest.mark.parametrize("name", ["metadata.csv", "megadetector_results.json", "instance_masks"])
    def test_stale_when_touched(self, root: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        opened(root)
        os.utime(root / name, ns=(1, 1))
        cannot_build(monkeypatch)
        with pytest.raises(AssertionError, match="built"):
            opened(root)

    def test_stale_when_the_content_changed(self, root: Path) -> None:
        assert opened(root).instances(2, 0.5).tolist() == []
        (root / "megadetector_results.json").write_text(
            json.dumps({"images": [{"id": "man", "detections": [detection(0.75)]}]})
        )
        (root / "instance_masks" / "fox.png").touch()
        made = opened(root)
        assert made.instances(2, 0.5).tolist() == [1]
        assert made.mask_path(1) == root / "instance_masks" / "fox.png"

    def test_stale_when_files_come_or_go(self, root: Path) -> None:
        detections = root / "megadetector_results.json"
        away = detections.rename(root / "away.json")
        assert not opened(root).has_detections
        away.rename(detections)
        assert opened(root).instances(0, 0.5).tolist() == [2, 6]

    def test_another_format_is_stale(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        opened(root)
        monkeypatch.setattr(cache, "FORMAT_VERSION", cache.FORMAT_VERSION + 1)
        cannot_build(monkeypatch)
        with pytest.raises(AssertionError, match="built"):
            opened(root)

    @pytest.mark.parametrize("damage", ["empty", "one byte less", "half", "a flipped bit", "a changed header", "noise"])
    def test_damage_is_noticed_and_mended(self, root: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
        made = opened(root)
        path = root / CACHE_NAME
        content = path.read_bytes()
        middle = len(content) // 2
        path.write_bytes(
            {
                "empty": b"",
                "one byte less": content[:-1],
                "half": content[:middle],
                "a flipped bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
                "a changed header": content.replace(b'"shape": [4]', b'"shape": [3]', 1),
                "noise": b"\n\0noise\n" * 100,
            }[damage]
        )
        assert path.read_bytes() != content
        assert_same(made, opened(root))
        assert caplog.messages == [f"{path}: the cached annotations are damaged; they are made again"]
        assert path.read_bytes() == content
        opened(root)
        assert len(caplog.messages) == 1

    def test_a_failed_write_leaves_the_old_file_and_no_other(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        opened(root)
        before = (root / CACHE_NAME).read_bytes()
        os.utime(root / "metadata.csv", ns=(1, 1))

        def fsync(_: int) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(KeyboardInterrupt):
            opened(root)
        assert (root / CACHE_NAME).read_bytes() == before
        assert [path.name for path in root.glob(".*")] == [CACHE_NAME]


class TestWhereTheCacheLies:
    @pytest.fixture(params=["something in the way", "read-only"])
    def closed_root(self, root: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
        """A data root that takes no cache; the first way works for the superuser too."""
        if request.param == "something in the way":
            (root / CACHE_NAME / "occupied").mkdir(parents=True)
            yield root
            return
        if os.geteuid() == 0:
            pytest.skip("the superuser writes everywhere")
        root.chmod(0o555)
        yield root
        root.chmod(0o755)

    def test_the_users_folder_is_the_fallback(
        self, closed_root: Path, user_cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        made = opened(closed_root)
        assert len(list(user_cache.iterdir())) == 1
        assert {path.name for path in closed_root.glob(".*")} <= {CACHE_NAME}
        cannot_build(monkeypatch)
        assert_same(made, opened(closed_root))
        assert caplog.messages == []

    def test_without_any_folder_it_works_and_says_so_once(
        self, closed_root: Path, user_cache: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        user_cache.write_text("a file, not a folder")
        assert opened(closed_root).instances(0, 0.5).tolist() == [2, 6]
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        message = record.getMessage()
        assert "\n" not in message
        assert message.startswith(f"the annotations cannot be cached ({closed_root}: ")
        assert "WILDS_TARGETED_CACHE" in message

    def test_a_chosen_folder_serves_several_data_sets(
        self, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chosen = tmp_path / "chosen"
        other = Path(shutil.copytree(root, tmp_path / "other"))
        (other / "metadata.csv").write_text("\n".join([HEADER, ROWS[2]]))
        made = [opened(root, cache_dir=chosen), opened(other, cache_dir=chosen)]
        assert len(list(chosen.iterdir())) == 2
        assert not (root / CACHE_NAME).exists()
        cannot_build(monkeypatch)
        assert_same(made[0], opened(root, cache_dir=chosen))
        assert_same(made[1], opened(other, cache_dir=chosen))
