"""BirdCalls as a WILDS data set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from wilds.common.grouper import CombinatorialGrouper
from wilds.common.metrics.all_metrics import F1, Accuracy, Recall
from wilds.datasets.wilds_dataset import WILDSDataset

from birdcalls_dataset.facts import FACTS_FILE, check_facts, duration
from birdcalls_dataset.table import (
    AUDIO,
    BOX,
    CRC,
    EMPTY,
    HIGH,
    LOW,
    MICROPHONE,
    PICTURE,
    REGION,
    SPECIES,
    SPLIT,
    TABLE_FILE,
    parse_box,
    read_table,
)
from wilds_targeted.audio.axes import SIZE, RelativeBox
from wilds_targeted.audio.clips import read_clip
from wilds_targeted.audio.mel import decibels, mel_power
from wilds_targeted.audio.picture import Floats, color_indices, draw_colors, palette
from wilds_targeted.audio.store import SpectrogramStore
from wilds_targeted.errors import DataError
from wilds_targeted.files import cache_folder

SPLIT_SCHEMES: dict[str, dict[str, tuple[str, ...]]] = {
    "official": {
        "train": ("train",),
        "val": ("id_val",),
        "id_test": ("id_test",),
        "test": ("ood_train", "ood_val", "test"),
    },
    "test-to-test-id": {"train": ("train",), "val": ("id_val",), "id_test": ("id_test",), "test": ("test",)},
    "test-to-test-ood": {"train": ("ood_train",), "val": ("ood_val",), "id_test": ("id_test",), "test": ("test",)},
}
"""For each scheme, which of the table's splits make up each of WILDS's.

WILDS trains on ``train`` and selects on ``val`` whatever the data set; so the paper's in-domain validation has that
name, and the comparison of appendix A.3 (training on the unseen microphones) is a scheme of its own."""

_SPLIT_TITLES = {"train": "Train", "val": "Validation (ID)", "id_test": "Test (ID)", "test": "Test (OOD)"}

_PICTURE_VERSION = 1
"""Part of the name of kept spectrograms: a change of how they are computed makes new ones."""


class BirdCallsDataset(WILDSDataset):  # type: ignore[misc]
    """Five-second clips from microphones in three regions: which bird calls, if any (appendix A.3 of the paper).

    Input (x): the mel spectrogram of the clip as an RGB picture of 500 x 500 pixels, as the authors draw it. Their
    bundle brings the pictures; those of our own build are made from the sound and kept on disk.

    Label (y): 0 for a clip without a call; from 1 the species, numbered in the order in which the table names them.

    Metadata: microphone (the domain), region, lowest and highest frequency of the call in hertz (0 where there is
    none), y.

    Args:
        version: ``"1.0"``.
        root_dir: The folder with ``birdcalls_v1.0/``: the authors' bundle, or what ``python -m birdcalls_dataset
            build`` or ``wilds-targeted miniature birdcalls`` wrote.
        download: Let WILDS fetch the authors' bundle (11 GB) from CodaLab.
        split_scheme: ``official``, ``test-to-test-id`` or ``test-to-test-ood``.

    Raises:
        DataError: The data are not what the file of facts tells, or a row of the table is wrong.
    """

    _dataset_name = "birdcalls"
    _versions_dict = {  # noqa: RUF012  (as WILDS's own classes have it)
        "1.0": {
            "download_url": "https://worksheets.codalab.org/rest/bundles/0x83846a709fbc4cf08ad14bee87ec8193/contents/blob/",
            "compressed_size": 11_225_304_127,
        }
    }

    def __init__(
        self,
        version: str | None = None,
        root_dir: str | Path = "data",
        download: bool = False,
        split_scheme: str = "official",
    ) -> None:
        self._version = version
        if split_scheme not in SPLIT_SCHEMES:
            raise ValueError(f"split scheme {split_scheme!r} is not known; there are {', '.join(SPLIT_SCHEMES)}")
        self._split_scheme = split_scheme
        self._data_dir = Path(self.initialize_data_dir(str(root_dir), download))
        table = read_table(self._data_dir / TABLE_FILE)
        self._facts = check_facts(self._data_dir, table)
        self._read_columns(table)
        self._store = self._open_store(len(table))
        self._original_resolution = (SIZE, SIZE)
        self._groupers = {
            field: CombinatorialGrouper(dataset=self, groupby_fields=[field]) for field in ("microphone", "region")
        }
        super().__init__(str(root_dir), download, split_scheme)

    def _read_columns(self, table: pd.DataFrame) -> None:
        """Splits, labels, metadata and where everything is, from the table."""
        members = SPLIT_SCHEMES[self._split_scheme]
        self._split_dict = {split: number for number, split in enumerate(members)}
        self._split_names = {split: _SPLIT_TITLES[split] for split in members}
        number_of = {part: self._split_dict[split] for split, parts in members.items() for part in parts}
        self._split_array = table[SPLIT].map(lambda part: number_of.get(part, -1)).to_numpy()
        for split in ("train", "val"):
            if self._split_dict[split] not in self._split_array:
                raise DataError(
                    f"{self._data_dir / TABLE_FILE}: no clip is in {' or '.join(members[split])}, so the split scheme "
                    f"{self._split_scheme!r} has nothing to {'train on' if split == 'train' else 'select on'}."
                )
        self.species = [EMPTY, *(name for name in table[SPECIES].unique() if name != EMPTY)]
        labels = table[SPECIES].map({name: number for number, name in enumerate(self.species)}).to_numpy(dtype=np.int64)
        self._y_array = torch.from_numpy(labels.copy())
        self._y_size = 1
        self._n_classes = len(self.species)
        microphones, microphone_names = pd.factorize(_name_microphones(table))
        regions, region_names = pd.factorize(table[REGION])
        low, high = (table[column].fillna(0).round().to_numpy(dtype=np.int64) for column in (LOW, HIGH))
        self._metadata_fields = ["microphone", "region", "low_freq", "high_freq", "y"]
        self._metadata_array = torch.from_numpy(np.stack([microphones, regions, low, high, labels], axis=1))
        self._metadata_map = {
            "microphone": list(microphone_names),
            "region": list(region_names),
            "y": self.species,
        }
        self._pictures = table[PICTURE].tolist()
        self._sounds = table[AUDIO].tolist()
        self._checksums = table[CRC].tolist() if CRC in table.columns else [""] * len(table)
        self._boxes = _boxes(self._data_dir / TABLE_FILE, table)

    def _open_store(self, count: int) -> SpectrogramStore | None:
        """Where spectrograms are kept: for one table, which tells the checksums of all its clips and their one rate."""
        if self._facts is None or len(self._facts.sampling_rates) != 1 or not all(self._checksums):
            return None
        palette()  # imports matplotlib: once here, and not in every worker
        # Beside the data, with which it goes; else, for data that others own, among what this tool keeps.
        folder = self._data_dir if os.access(self._data_dir, os.W_OK) else cache_folder() / "spectrograms"
        name = f"spectrograms-{self._facts.sha256[:16]}-v{_PICTURE_VERSION}.bin"
        store = SpectrogramStore(folder / name, count)
        store.prepare()
        return store

    def get_input(self, idx: int) -> Image.Image:
        """The picture of that row's clip."""
        row = range(len(self._sounds))[int(idx)]
        if self._pictures[row]:
            with Image.open(self._data_dir / self._pictures[row]) as picture:
                return picture.convert("RGB")
        kept = None if self._store is None else self._store.get(row)
        if kept is not None and self._facts is not None:
            return draw_colors(kept, int(next(iter(self._facts.sampling_rates))))
        waveform, rate = self.get_audio(row)
        indices = color_indices(decibels(mel_power(waveform, rate)))
        if self._store is not None:
            self._store.put(row, indices)
        return draw_colors(indices, rate)

    def get_audio(self, idx: int) -> tuple[Floats, int]:
        """The samples of that row's clip, from -1 to 1, and the sampling rate in hertz."""
        row = range(len(self._sounds))[int(idx)]
        if not self._sounds[row]:
            raise DataError(f"row {row} of birdcalls has a picture but no sound ({AUDIO} is empty in {TABLE_FILE}).")
        path = self._data_dir / self._sounds[row]
        waveform, rate = read_clip(path, self._checksums[row] or None)
        if self._facts is not None:
            if str(rate) not in self._facts.sampling_rates:
                raise DataError(f"{path}: sampled at {rate} Hz, where {FACTS_FILE} tells {self._facts.sampling_rates}.")
            if duration(len(waveform), rate) not in self._facts.seconds:
                raise DataError(
                    f"{path}: {duration(len(waveform), rate)} s long, where {FACTS_FILE} tells {self._facts.seconds}."
                )
        return waveform, rate

    def get_box(self, idx: int) -> RelativeBox | None:
        """Where in the picture that row's call is; None for a clip without one."""
        return self._boxes[int(idx)]

    def eval(
        self, y_pred: torch.Tensor, y_true: torch.Tensor, metadata: torch.Tensor, prediction_fn: Any = None
    ) -> tuple[dict[str, Any], str]:
        """Accuracy, macro recall and macro F1: of all, by microphone and by region.

        Args:
            y_pred: Predicted labels, or what `prediction_fn` makes labels of.
            y_true: The labels.
            metadata: The rows of the metadata.
            prediction_fn: From outputs to labels.

        Returns:
            The results by name, and a text for people.
        """
        results: dict[str, Any] = {}
        text = ""
        for metric in (
            Accuracy(prediction_fn=prediction_fn),
            Recall(prediction_fn=prediction_fn, average="macro"),
            F1(prediction_fn=prediction_fn, average="macro"),
        ):
            results.update(metric.compute(y_pred, y_true))
            text += f"{metric.name}: {results[metric.agg_metric_field]:.3f}\n"
            for grouper in self._groupers.values():
                by_group, _ = self.standard_group_eval(metric, grouper, y_pred, y_true, metadata, aggregate=False)
                by_group.pop(metric.worst_group_metric_field)
                results.update(by_group)
        return results, text + self._by_region(results)

    def _by_region(self, results: dict[str, Any]) -> str:
        """A line for each region that is in the results."""
        lines = ""
        grouper = self._groupers["region"]
        for group in range(grouper.n_groups):
            field = grouper.group_field_str(group)
            if results[f"count_{field}"]:
                lines += f"  {grouper.group_str(group)}  [n = {results[f'count_{field}']:6.0f}]: "
                lines += f"acc = {results[f'acc_{field}']:5.3f}, F1-macro = {results[f'F1-macro_{field}']:5.3f}\n"
        return lines


def _name_microphones(table: pd.DataFrame) -> pd.Series[str]:
    """Each row's microphone; with its region, where two regions number theirs alike."""
    regions = table.groupby(MICROPHONE)[REGION].transform("nunique")
    return table[MICROPHONE].where(regions == 1, table[REGION] + " " + table[MICROPHONE])


def _boxes(path: Path, table: pd.DataFrame) -> list[RelativeBox | None]:
    boxes = []
    for row, text in enumerate(table[BOX]):
        try:
            boxes.append(parse_box(text))
        except DataError as error:
            raise DataError(f"{path}, row {row + 2}: {error}") from None
    return boxes
