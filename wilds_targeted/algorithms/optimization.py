"""Optimizers and learning-rate schedules by WILDS's names, with WILDS's defaults."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
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


def _linear(step: int, *, total: int, num_warmup_steps: int) -> float:
    """Up in a straight line, then down to 0 at the end of the run."""
    if step < num_warmup_steps:
        return step / max(1, num_warmup_steps)
    return max(0.0, (total - step) / max(1, total - num_warmup_steps))


def _cosine(step: int, *, total: int, num_warmup_steps: int, num_cycles: float = 0.5) -> float:
    """Up in a straight line, then down in half a cosine (or more)."""
    if step < num_warmup_steps:
        return step / max(1, num_warmup_steps)
    share = (step - num_warmup_steps) / max(1, total - num_warmup_steps)
    return max(0.0, 0.5 * (1.0 + math.cos(math.pi * num_cycles * 2.0 * share)))


def _fixmatch(step: int, *, total: int) -> float:
    """Slowly down, as FixMatch does."""
    return float((1 + 10 * step / total) ** -0.75)


LENGTH_FACTORS: dict[str, Callable[..., float]] = {
    "linear_schedule_with_warmup": _linear,
    "cosine_schedule_with_warmup": _cosine,
    "FixMatchLR": _fixmatch,
}
"""Factors on the rate, for schedules whose shape depends on how long the run will be.

Transformers has the first two, with the same numbers; importing it takes seconds, at every start of a run.
"""


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
        factor = partial(LENGTH_FACTORS[name], total=n_train_steps, **keywords)
        factor(0)  # wrong keywords are told before the first step
        return Schedule(LambdaLR(optimizer, factor), every_batch=True)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"--scheduler {name} with {keywords}: {error}") from error
