"""Stand-in for WILDS's way of filling in defaults."""
# ruff: noqa: I001
# The order of the imports is WILDS's: the bridge's hooks depend on it.

import copy
from configs.algorithm import algorithm_defaults
from configs.model import model_defaults
from configs.scheduler import scheduler_defaults
from configs.data_loader import loader_defaults
from configs.datasets import dataset_defaults, split_defaults

# fmt: off
_REQUIRED = (
    "split_scheme", "train_loader", "uniform_over_groups", "batch_size", "eval_loader", "model",
    "loss_function", "val_metric", "val_metric_decreasing", "n_epochs", "optimizer", "lr", "weight_decay",
)
# fmt: on


def populate_defaults(config):
    """Fill in what the command line left open; what comes first wins."""
    given = copy.deepcopy(config)
    if config.algorithm == "DANN" and config.lr is not None:
        raise ValueError("DANN has three learning rates of its own; --lr has no meaning.")
    if config.load_featurizer_only and config.pretrained_model_path is None:
        raise ValueError("--load_featurizer_only: load from where?")

    config = populate_config(config, dataset_defaults[config.dataset])
    config = populate_config(config, split_defaults.get(config.dataset, {}).get(config.split_scheme))
    config = populate_config(config, algorithm_defaults[config.algorithm])
    config = populate_config(config, loader_defaults)
    if config.model:
        config = populate_config(config, model_defaults[config.model])
    if config.scheduler:
        config = populate_config(config, scheduler_defaults[config.scheduler])

    config.no_group_logging = config.groupby_fields is None or bool(config.no_group_logging)
    for name in _REQUIRED:
        assert getattr(config, name) is not None, f"{name} has no default here: give it."
    if config.train_loader == "standard":
        for name in ("n_groups_per_batch", "distinct_groups"):
            if getattr(given, name) is not None:
                raise ValueError(f"{name} makes sense with the group loader only.")
    return config


def populate_config(config, template, force_compatibility=False):
    """Put the template's values where the configuration has none, one level deep."""

    def fill(values, wanted):
        for name, default in wanted.items():
            if isinstance(default, dict):
                fill(values[name], default)
            elif values.get(name) is None:
                values[name] = default
            elif force_compatibility and values[name] != default:
                raise ValueError(f"{name} has to be {default}.")

    fill(vars(config), template or {})
    return config
