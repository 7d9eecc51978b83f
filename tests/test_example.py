"""Loading a row, and naming the file that can't be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from wilds_targeted.errors import DataError
from wilds_targeted.example import load_example


class Folder:
    """A data set of one image."""

    dataset_name = "folder"

    def __init__(self, file: Path) -> None:
        self.file = file

    def __getitem__(self, index: int) -> tuple[Any, int, None]:
        return Image.open(self.file), 1, None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(tmp_path / "a.jpg")
    return tmp_path / "a.jpg"


def test_the_image_is_read(file: Path) -> None:
    example = load_example(Folder(file), 5)
    file.unlink()
    assert np.asarray(example.x).shape == (64, 64, 3)
    assert (example.y, example.index) == (1, 5)


def test_a_truncated_image_is_named(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(
        DataError, match=r"^row 5 of folder can't be read \(.*a\.jpg: image file is truncated.*restore it"
    ):
        load_example(Folder(file), 5)


def test_a_missing_image_is_named(file: Path) -> None:
    file.unlink()
    with pytest.raises(DataError, match=r"^row 5 of folder can't be read \(.*a\.jpg: No such file or directory\)"):
        load_example(Folder(file), 5)
