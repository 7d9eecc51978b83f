"""Optimizers and learning-rate schedules by WILDS's names, with WILDS's defaults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, MultiStepLR, ReduceLROnPlateau, StepLR

from wilds_targeted.errors import ConfigError
from wilds_targeted.mends import AdamW
from wilds_targeted.registry import get_registry

OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "SGD": torch.optim.SGD,
    "Adam": torch.optim.Adam,
    "AdamW": AdamW,
}

SCHEDULER_DEFAULTS: dict[str, dict[str, Any]] = {
    "linear_schedule_with_warmup": {"num_warmup_steps": 0},
    "cosine_schedule_with_warmup": {"num_warmup_steps": 0},
    "ReduceLROnPlateau": {},
    "StepLR": {"step_size": 1},
    "FixMatchLR": {},
    "MultiStepLR": {"gamma": 0.1},
}
"""Every schedule, with what `run_expt.py` fills in for it."""

SCHEDULERS_BY_LENGTH = ("linear_schedule_with_warmup", "cosine_schedule_with_warmup", "FixMatchLR")
"""Those whose shape depends on how long the run will be."""


def build_optimizer(
    config: Any, model: nn.Module, parameters: Iterable[dict[str, Any]] | None = None
) -> torch.optim.Optimizer:
    """The configured optimizer over a model's parameters.

    Args:
        config: The final configuration.
        model: What is optimized.
        parameters: Parameter groups with learning rates of their own. By default those that a registered model
            asks for, else one group of all parameters that learn.
    """
    if parameters is None:
        spec = get_registry().models.get(config.model)
        if spec is not None and spec.parameter_groups is not None:
            parameters = spec.parameter_groups(model, config)
        else:
            parameters = [{"params": [each for each in model.parameters() if each.requires_grad]}]
    keywords = {"lr": config.lr, "weight_decay": config.weight_decay, **config.optimizer_kwargs}
    try:
        return OPTIMIZERS[config.optimizer](parameters, **keywords)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"--optimizer {config.optimizer} with {keywords}: {error}") from error


@dataclass(frozen=True)
class Schedule:
    """A learning-rate schedule and when it steps.

    Args:
        scheduler: One of torch's.
        every_batch: Whether it steps after every optimizer step; else after every epoch.
        metric: The name of the metric that a step looks at, or None.
    """

    scheduler: LRScheduler
    every_batch: bool = False
    metric: str | None = None


def build_schedule(config: Any, optimizer: torch.optim.Optimizer, n_train_steps: int) -> Schedule | None:
    """The configured schedule; None for a constant learning rate."""
    name, keywords = config.scheduler, config.scheduler_kwargs
    if name is None:
        return None
    try:
        if name == "ReduceLROnPlateau":
            if config.scheduler_metric_name is None:
                raise ConfigError("--scheduler ReduceLROnPlateau needs --scheduler_metric_name.")
            return Schedule(ReduceLROnPlateau(optimizer, **keywords), metric=config.scheduler_metric_name)
        if name == "StepLR":
            return Schedule(StepLR(optimizer, **keywords))
        if name == "MultiStepLR":
            return Schedule(MultiStepLR(optimizer, **keywords))
        if name == "FixMatchLR":
            decay = LambdaLR(optimizer, lambda step: (1 + 10 * step / n_train_steps) ** -0.75)
            return Schedule(decay, every_batch=True)
        # Imported here: it takes seconds, and most runs do not warm up.
        from transformers.optimization import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

        make = get_linear_schedule_with_warmup if name.startswith("linear") else get_cosine_schedule_with_warmup
        return Schedule(make(optimizer, num_training_steps=n_train_steps, **keywords), every_batch=True)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"--scheduler {name} with {keywords}: {error}") from error
