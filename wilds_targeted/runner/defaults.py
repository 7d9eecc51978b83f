"""Fill in what the command line leaves open.

WILDS's order: data set, split scheme, algorithm, loader, model, schedule; the first to set a value wins. The values
live in the registered specs. What contradicts itself is refused, as in WILDS, in one line.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Mapping
from typing import Any

from wilds_targeted.algorithms.optimization import SCHEDULER_DEFAULTS
from wilds_targeted.choice import (
    NO_ADDITIONAL_TRANSFORM,
    WILDS_ADDITIONAL_TRANSFORMS,
    WILDS_MODELS,
    finalize_config,
    settle_model,
    settle_optimizer_kwargs,
)
from wilds_targeted.errors import ConfigError
from wilds_targeted.registry import Registry, get_registry
from wilds_targeted.runner.flags import USE_WILDS

LOADER_DEFAULTS = {"loader_kwargs": {"num_workers": 4, "pin_memory": True}, "n_groups_per_batch": 4}

_REQUIRED = (
    "split_scheme",
    "train_loader",
    "uniform_over_groups",
    "batch_size",
    "eval_loader",
    "model",
    "loss_function",
    "val_metric",
    "val_metric_decreasing",
    "n_epochs",
    "optimizer",
    "lr",
    "weight_decay",
)


def complete(given: argparse.Namespace) -> argparse.Namespace:
    """The final configuration; the given one is left as it was."""
    registry = get_registry()
    _check_given(given, registry)
    config = copy.deepcopy(given)
    dataset = registry.datasets[config.dataset]
    if config.groupby_fields == ["from_source_domain"]:
        config.n_groups_per_batch = 1
    _fill(config, dataset.defaults)
    _fill(config, dataset.split_defaults.get(config.split_scheme, {}))
    _fill(config, registry.algorithms[config.algorithm].defaults)
    _fill(config, LOADER_DEFAULTS)
    if config.model is not None:
        _fill(config, registry.models.find(config.model).defaults)
    if config.scheduler is not None:
        _fill(config, {"scheduler_kwargs": SCHEDULER_DEFAULTS[config.scheduler]})
    config.no_group_logging = bool(config.no_group_logging) or config.groupby_fields is None
    for name in _REQUIRED:
        if getattr(config, name) is None:
            raise ConfigError(f"--{name} has no default for --dataset {config.dataset}: please give it.")
    own = None if config.model in WILDS_MODELS else registry.models[config.model]
    settle_model(config, given, dataset.defaults.get("model"), own)
    settle_optimizer_kwargs(config, given.optimizer_kwargs, dataset.defaults)
    _check_final(config, given)
    finalize_config(config, registry)
    return config


def _fill(config: argparse.Namespace, defaults: Mapping[str, Any]) -> None:
    """Take over what is not set yet; dictionaries key by key."""
    for name, value in defaults.items():
        if isinstance(value, Mapping):
            known = getattr(config, name)
            for key, each in value.items():
                if known.get(key) is None:
                    known[key] = copy.deepcopy(each)
        elif getattr(config, name, None) is None:
            setattr(config, name, value)


def _check_given(given: argparse.Namespace, registry: Registry) -> None:
    if given.dataset not in registry.datasets:
        raise ConfigError(f"data set {given.dataset!r}: the built-in runner has no model for it. {USE_WILDS}")
    if given.loss_kwargs:
        raise ConfigError("--loss_kwargs: no loss takes any. Leave the flag out.")
    if given.randaugment_n is not None:
        raise ConfigError(
            "--randaugment_n belongs to WILDS's own RandAugment. With --transform randaugment give "
            "--transform_kwargs k=N."
        )
    if given.max_token_length is not None:
        raise ConfigError(f"--max_token_length: the built-in runner does not train on text. {USE_WILDS}")
    if given.algorithm == "DANN" and given.lr is not None:
        raise ConfigError(
            "--lr does not go with --algorithm DANN: give --dann_featurizer_lr, --dann_classifier_lr and "
            "--dann_discriminator_lr."
        )
    if given.load_featurizer_only and given.pretrained_model_path is None:
        raise ConfigError("--load_featurizer_only needs --pretrained_model_path.")
    if given.eval_epoch is not None and not given.eval_only:
        raise ConfigError("--eval_epoch goes with --eval_only.")
    if given.groupby_fields == ["from_source_domain"] and given.n_groups_per_batch not in (None, 1):
        raise ConfigError(
            f"--groupby_fields from_source_domain has one group a batch, got --n_groups_per_batch "
            f"{given.n_groups_per_batch}."
        )


def _check_final(config: argparse.Namespace, given: argparse.Namespace) -> None:
    if config.train_loader == "standard":
        for name in ("n_groups_per_batch", "distinct_groups"):
            if getattr(given, name) is not None:
                raise ConfigError(f"--{name} goes with --train_loader group, not with the standard loader.")
    additional = config.additional_train_transform
    if additional in WILDS_ADDITIONAL_TRANSFORMS:
        origin = "" if given.additional_train_transform else f", which WILDS sets for {config.algorithm}"
        raise ConfigError(
            f"--additional_train_transform {additional}{origin}: the built-in runner does not repeat WILDS's draws. "
            f"Give `--additional_train_transform {NO_ADDITIONAL_TRANSFORM}` (as the paper's comparison does) or a "
            f"registered transform, or use --runner wilds."
        )
    if config.resume and config.loader_kwargs.get("persistent_workers"):
        raise ConfigError(
            "--resume does not go with --loader_kwargs persistent_workers=True: such workers keep random states that "
            "nothing can restore."
        )
    if config.resume and config.eval_only:
        raise ConfigError("--resume goes on with training, --eval_only does not train: leave one out.")
