"""A data set small enough to count by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from wilds.datasets.wilds_dataset import WILDSDataset

Row = tuple[str, int, int, tuple[int, int, int]]
"""Split, hospital, label and the colour of the whole picture."""

ROWS: tuple[Row, ...] = (
    ("train", 0, 0, (0, 10, 255)),
    ("train", 0, 0, (4, 10, 255)),
    ("train", 0, 1, (100, 20, 30)),
    ("train", 3, 0, (7, 7, 7)),
    ("train", 3, 1, (200, 0, 0)),
    ("train", 3, 1, (200, 0, 1)),
    ("train", 3, 1, (200, 0, 2)),
    ("val", 1, 0, (50, 50, 50)),
    ("val", 1, 1, (50, 50, 50)),
)


class HandMade(WILDSDataset):
    """Pictures of one colour each."""

    _dataset_name = "handmade"
    _versions_dict = {"1.0": {"download_url": None, "compressed_size": None}}  # noqa: RUF012

    def __init__(self, folder: Path, rows: Sequence[Row], regions: dict[int, str] | None = None) -> None:
        self._version = "1.0"
        self._split_scheme = "official"
        self._data_dir = folder
        splits = ("train", "val", "test")
        self._split_dict = {split: number for number, split in enumerate(splits)}
        self._split_names = {split: split for split in splits}
        self._split_array = np.array([self._split_dict[row[0]] for row in rows])
        self._y_array = torch.tensor([row[2] for row in rows])
        self._y_size = 1
        self._n_classes = int(self._y_array.max()) + 1
        columns = [[row[1] for row in rows], [row[2] for row in rows]]
        self._metadata_fields = ["hospital", "y"]
        if regions is not None:
            names = sorted(set(regions.values()))
            columns.insert(1, [names.index(regions[row[1]]) for row in rows])
            self._metadata_fields = ["hospital", "region", "y"]
            self._metadata_map = {"region": names}
        self._metadata_array = torch.tensor(columns).T.contiguous()
        self._input_array = [f"{number}.png" for number in range(len(rows))]
        for name, row in zip(self._input_array, rows, strict=True):
            Image.new("RGB", (6, 4), row[3]).save(folder / name)
        super().__init__(str(folder), False, "official")

    def get_input(self, idx: int) -> Image.Image:
        return Image.open(self._data_dir / self._input_array[idx])


Make = Callable[..., Any]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write such a data set into a folder of its own."""

    def make(rows: Sequence[Row] = ROWS, **options: Any) -> HandMade:
        folder = tmp_path / "handmade"
        folder.mkdir()
        return HandMade(folder, rows, **options)

    return make
