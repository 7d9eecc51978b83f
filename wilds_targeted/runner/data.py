"""Data set, splits and loaders, made in the order in which WILDS's script makes them, draw for draw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from wilds_targeted.errors import ConfigError, DataError, one_line
from wilds_targeted.runner.logs import TextLog
from wilds_targeted.runner.reading import Reader, ReadingSubset, leave_out_bad_examples
from wilds_targeted.runner.transforms import build_transform


@dataclass(frozen=True)
class Split:
    """One split of the data set.

    Args:
        key: Such as ``val``.
        title: The data set's name for it, for people.
        subset: Its examples.
        loader: Its batches.
    """

    key: str
    title: str
    subset: Any
    loader: Any

    @property
    def is_told(self) -> bool:
        """Whether the log tells of it at length."""
        return self.key in ("train", "val")

    def as_wilds(self) -> dict[str, Any]:
        """The dictionary that WILDS's script hands to algorithms."""
        return {
            "dataset": self.subset,
            "loader": self.loader,
            "split": self.key,
            "name": self.title,
            "verbose": self.is_told,
        }


@dataclass(frozen=True)
class Data:
    """Everything that a run reads.

    Args:
        dataset: The full `WILDSDataset`.
        reader: Through which all examples are read.
        grouper: Tells the domains.
        splits: By key, in the data set's order.
    """

    dataset: Any
    reader: Reader
    grouper: Any
    splits: dict[str, Split]


def load_data(config: Any) -> Data:
    """Load the data set and make its splits and loaders."""
    from wilds.common.data_loaders import get_eval_loader, get_train_loader
    from wilds.common.grouper import CombinatorialGrouper

    from wilds_targeted.api import get_dataset

    dataset = get_dataset(
        config.dataset,
        root_dir=config.root_dir,
        version=config.version,
        download=config.download,
        split_scheme=config.split_scheme,
        **config.dataset_kwargs,
    )
    _check_splits(config, dataset)
    reader = Reader(dataset)
    if config.on_bad_example == "skip":
        leave_out_bad_examples(reader, Path(config.log_dir), config)
    transforms = {True: build_transform(config, dataset, is_training=True)}
    transforms[False] = build_transform(config, dataset, is_training=False)
    try:
        grouper = CombinatorialGrouper(dataset, config.groupby_fields)
    except ValueError as error:
        fields = ", ".join(dataset.metadata_fields)
        raise ConfigError(f"--groupby_fields {config.groupby_fields}: {error}. The fields are {fields}.") from error
    loader_kwargs = dict(config.loader_kwargs)
    if not torch.cuda.is_available():
        loader_kwargs["pin_memory"] = False  # torch would warn of it at every epoch, and it changes no number
    splits = {}
    for key in dataset.split_dict:
        is_train = key == "train"
        subset = dataset.get_subset(key, frac=config.frac, transform=transforms[is_train])
        if len(subset) == 0 and (key in ("train", "val", *config.eval_splits) or config.evaluate_all_splits):
            raise DataError(f"the split {key!r} of {config.dataset} is empty (--frac {config.frac}).")
        subset = ReadingSubset(subset, reader)
        try:
            if is_train:
                loader = get_train_loader(
                    config.train_loader,
                    subset,
                    config.batch_size,
                    uniform_over_groups=config.uniform_over_groups,
                    grouper=grouper,
                    distinct_groups=config.distinct_groups,
                    n_groups_per_batch=config.n_groups_per_batch,
                    **loader_kwargs,
                )
                _check_groups(config, loader)
            else:
                loader = get_eval_loader(config.eval_loader, subset, config.batch_size, **loader_kwargs)
        except (ValueError, TypeError) as error:
            raise ConfigError(f"the loader of the split {key!r}: {one_line(error)}") from error
        splits[key] = Split(key, dataset.split_names[key], subset, loader)
    return Data(dataset, reader, grouper, splits)


def _check_splits(config: Any, dataset: Any) -> None:
    for split in config.eval_splits:
        if split in ("train", "val") and not config.eval_only:
            raise ConfigError(f"--eval_splits {split}: {split!r} is evaluated in every epoch anyway. Leave it out.")
        if split not in dataset.split_dict:
            raise ConfigError(
                f"--eval_splits: {config.dataset} has no split {split!r}. Its splits: {', '.join(dataset.split_dict)}."
            )


def _check_groups(config: Any, loader: Any) -> None:
    """WILDS counts the groups of all splits; a batch is drawn from those of the training split."""
    if config.train_loader == "group" and config.distinct_groups:
        present = len(loader.batch_sampler.unique_groups)
        if config.n_groups_per_batch > present:
            raise ConfigError(
                f"--n_groups_per_batch {config.n_groups_per_batch}: the training split has {present} groups of "
                f"{config.groupby_fields}. Give at most that many."
            )


def log_groups(config: Any, data: Data, log: TextLog) -> None:
    """Write how many examples each split has, by group or class where the log shows groups."""
    from wilds.common.grouper import CombinatorialGrouper

    dataset = data.dataset
    grouper = data.grouper
    if config.no_group_logging:
        few_classes = dataset.is_classification and dataset.y_size == 1 and dataset.n_classes <= 10
        grouper = CombinatorialGrouper(dataset, ["y"]) if few_classes else None
    for split in data.splits.values():
        lines = [f"{split.title} data..."]
        if grouper is None:
            lines.append(f"    n = {len(split.subset)}")
        else:
            _, counts = grouper.metadata_to_group(split.subset.metadata_array, return_counts=True)
            lines += [f"    {grouper.group_str(group)}: n = {count:.0f}" for group, count in enumerate(counts.tolist())]
        log.write("\n".join([*lines, ""]))


def count_outputs(dataset: Any) -> int:
    """How many outputs a model for this data set has."""
    if not dataset.is_classification:
        return int(dataset.y_size)
    if dataset.y_size in (1, None):
        return int(dataset.n_classes)
    if dataset.n_classes == 2:
        return int(dataset.y_size)  # several yes-or-no questions at once
    raise ConfigError(f"{dataset.dataset_name}: several labels of more than two classes are not supported.")
