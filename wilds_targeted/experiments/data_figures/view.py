"""A split of a data set by domain and class, from the metadata alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wilds_targeted.api import get_subset
from wilds_targeted.errors import ConfigError, DataError, closest, one_line
from wilds_targeted.registry import get_registry

Numbers = NDArray[np.int64]

REGION = "region"
"""The metadata field of what is coarser than a domain, where a data set has it: its habitats are alike."""

CATEGORIES_FILE = "categories.csv"
"""iWildCam's names of its classes, beside its metadata."""

_CLASS_NAMES = {"camelyon17": ("y = 0 (no tumour)", "y = 1 (tumour)")}
"""Of data sets that bring none."""


@dataclass(frozen=True)
class View:
    """A split of a data set, by domain and class.

    Args:
        dataset: The full `WILDSDataset`.
        split: Such as ``"train"``.
        field: What a domain is called, such as ``"hospital"``.
        rows: The split's rows in the full data set.
        domains: For each of them its domain, counted from 0.
        domain_names: The domains that the split has.
        regions: For each domain its region; empty for a data set without, or whose domains span regions.
        labels: For each row its class.
        class_names: For each class of the data set its name.
    """

    dataset: Any
    split: str
    field: str
    rows: Numbers
    domains: Numbers
    domain_names: tuple[str, ...]
    regions: tuple[str, ...]
    labels: Numbers
    class_names: tuple[str, ...]


def open_view(dataset: Any, split: str = "train", groupby: Sequence[str] = ()) -> View:
    """The view of a split.

    Args:
        dataset: A `WILDSDataset` with one class for each example.
        split: Such as ``"train"``.
        groupby: The metadata fields that make a domain; the data set's own by default.

    Raises:
        DataError: No such split, an empty one, or a data set without classes.
        ConfigError: No such field.
    """
    fields = _domain_fields(dataset, groupby)
    rows = np.asarray(get_subset(dataset, split).indices, dtype=np.int64)
    if len(rows) == 0:
        raise DataError(f"the split {split!r} of {dataset.dataset_name} is empty: there is nothing to draw.")
    columns = [dataset.metadata_fields.index(field) for field in fields]
    values, domains = np.unique(np.asarray(dataset.metadata_array)[rows][:, columns], axis=0, return_inverse=True)
    domains = domains.reshape(-1)
    names = tuple(
        " / ".join(name_value(dataset, *pair) for pair in zip(fields, each, strict=True)) for each in values.tolist()
    )
    labels = labels_of(dataset)
    regions = () if REGION in fields else _regions(dataset, rows, domains, len(names))
    field = " and ".join(fields)
    return View(dataset, split, field, rows, domains, names, regions, labels[rows], class_names(dataset))


def labels_of(dataset: Any) -> Numbers:
    """The class of every row of a data set."""
    labels = np.asarray(dataset.y_array)
    if not dataset.is_classification or dataset.is_detection or labels.ndim != 1:
        raise DataError(
            f"these figures show examples by class, and those of {dataset.dataset_name} do not have one class each."
        )
    return labels.astype(np.int64)


def region_of_rows(dataset: Any) -> tuple[Numbers, tuple[str, ...]]:
    """For every row its region, and the regions' names; a data set without regions is one, without a name."""
    if REGION not in dataset.metadata_fields:
        return np.zeros(len(dataset), dtype=np.int64), ("",)
    column = np.asarray(dataset.metadata_array)[:, dataset.metadata_fields.index(REGION)]
    values, regions = np.unique(column, return_inverse=True)
    return regions.astype(np.int64), tuple(name_value(dataset, REGION, value) for value in values.tolist())


def name_value(dataset: Any, field: str, value: float) -> str:
    """A value of a metadata field in words: its name, where the data set has names, else field and number."""
    names = (dataset.metadata_map or {}).get(field)
    number = int(value)
    if names is not None and 0 <= number < len(names):
        return str(names[number]).strip()
    return f"{field} {number}"


def class_names(dataset: Any) -> tuple[str, ...]:
    """The classes' names: the data set's, those of its `categories.csv`, or numbers."""
    names = {
        number: f"class {number}" for number in range(max(dataset.n_classes or 0, int(labels_of(dataset).max()) + 1))
    }
    path = Path(dataset.data_dir) / CATEGORIES_FILE
    if "y" in (dataset.metadata_map or {}):
        names.update({number: name_value(dataset, "y", number) for number in names})
    elif dataset.dataset_name in _CLASS_NAMES:
        names.update(enumerate(_CLASS_NAMES[dataset.dataset_name]))
    elif path.is_file():
        named = _read_categories(path)
        names.update({number: named[number] for number in names if number in named})
    return tuple(names.values())


def _read_categories(path: Path) -> dict[int, str]:
    try:
        table = pd.read_csv(path, usecols=["y", "name"], keep_default_na=False)
        return dict(zip(table["y"].astype(int).tolist(), table["name"].astype(str).tolist(), strict=True))
    except (ValueError, OSError) as error:
        raise DataError(
            f"{path}: the columns y (a number) and name are expected ({one_line(error)}). Restore the file from the "
            f"data set's archive, or move it away: classes then have numbers."
        ) from error


def _domain_fields(dataset: Any, groupby: Sequence[str]) -> list[str]:
    """The fields that make a domain: those asked for, or those that the data set is grouped by, without the class."""
    known = [field for field in dataset.metadata_fields if field != "y"]
    spec = get_registry().datasets.get(dataset.dataset_name)
    own = (spec.defaults.get("groupby_fields") or []) if spec else []
    fields = list(dict.fromkeys(groupby)) or [field for field in own if field != "y"]
    if not fields:
        raise ConfigError(
            f"{dataset.dataset_name} does not say what its domains are. Choose with --groupby: {', '.join(known)}."
        )
    for field in fields:
        if field not in known:
            raise ConfigError(
                f"--groupby {field}: {dataset.dataset_name} has no such field to group by{closest(field, known)}. "
                f"Its fields: {', '.join(known)}."
            )
    return fields


def _regions(dataset: Any, rows: Numbers, domains: Numbers, count: int) -> tuple[str, ...]:
    """Each domain's region, where every domain has one."""
    regions, names = region_of_rows(dataset)
    pairs = np.unique(np.stack([domains, regions[rows]]), axis=1)
    if len(names) == 1 or pairs.shape[1] != count:
        return ()
    return tuple(names[region] for region in pairs[1].tolist())
