"""Losses, metrics and functions by WILDS's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from wilds.common.metrics.all_metrics import (
    MSE,
    Accuracy,
    MultiTaskAccuracy,
    MultiTaskAveragePrecision,
    binary_logits_to_pred,
    multiclass_logits_to_pred,
)
from wilds.common.metrics.loss import ElementwiseLoss, MultiTaskLoss


def _cross_entropy_of_shares(logits: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    """Cross entropy with a distribution over the classes as target."""
    return torch.sum(-shares * nn.functional.log_softmax(logits, 1), 1)


LOSSES: dict[str, Callable[[], Any]] = {
    "cross_entropy": lambda: ElementwiseLoss(nn.CrossEntropyLoss(reduction="none", ignore_index=-100)),
    "lm_cross_entropy": lambda: MultiTaskLoss(nn.CrossEntropyLoss(reduction="none", ignore_index=-100)),
    "mse": lambda: MSE(name="loss"),
    "MSE": lambda: MSE(name="loss"),  # WILDS's parser allows this spelling only, its defaults use the other
    "multitask_bce": lambda: MultiTaskLoss(nn.BCEWithLogitsLoss(reduction="none")),
    "cross_entropy_logits": lambda: ElementwiseLoss(_cross_entropy_of_shares),
}

LOGGED_METRICS: dict[str | None, Callable[[], Any]] = {
    "accuracy": lambda: Accuracy(prediction_fn=multiclass_logits_to_pred),
    "mse": MSE,
    "multitask_accuracy": lambda: MultiTaskAccuracy(prediction_fn=multiclass_logits_to_pred),
    "multitask_binary_accuracy": lambda: MultiTaskAccuracy(prediction_fn=binary_logits_to_pred),
    "multitask_avgprec": lambda: MultiTaskAveragePrecision(prediction_fn=None),
    None: lambda: None,
}

OUTPUT_FUNCTIONS: dict[str | None, Callable[[Any], Any]] = {
    "binary_logits_to_pred": binary_logits_to_pred,
    "multiclass_logits_to_pred": multiclass_logits_to_pred,
    None: lambda outputs: outputs,
}
