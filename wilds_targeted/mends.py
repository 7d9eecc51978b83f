"""Where WILDS 2.0 breaks on today's libraries, and what stands in: one home for bridge, runner and scoring.

Each mend says what broke and changes nothing where the original still works.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch


class AdamW(torch.optim.AdamW):
    """What ``from transformers import AdamW`` gave, for WILDS's ``examples/optimizer.py``.

    Transformers removed its own AdamW in release 5 (WILDS pull request 168). Its defaults were not torch's: no weight
    decay (torch: 0.01) and an epsilon of 1e-6 (torch: 1e-8); they are kept here. The update is torch's: it applies
    the decay before the step instead of after, and epsilon after the bias correction, which differs in the order
    of ``lr * weight_decay`` and of epsilon.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        correct_bias: bool = True,
        no_deprecation_warning: bool = False,
    ) -> None:
        if not correct_bias:
            raise ValueError("correct_bias=False is not offered: torch's AdamW always corrects the bias")
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


def mend_transformers() -> None:
    """Give `transformers` back the name ``AdamW``, where it is gone."""
    import transformers

    if not hasattr(transformers, "AdamW"):
        transformers.AdamW = AdamW


def average_over_groups(v: torch.Tensor, g: torch.Tensor, n_groups: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean of ``v`` in each group, and each group's size; 0 for a group without members.

    It stands in for ``wilds.common.utils.avg_over_groups``, which imports ``torch_scatter``, a compiled package that
    has no build for most releases of torch; every group-wise metric needs it.
    """
    if v.device != g.device or v.numel() != g.numel():
        raise ValueError(f"values ({v.numel()} on {v.device}) and groups ({g.numel()} on {g.device}) do not match")
    counts = torch.zeros(n_groups, device=g.device).index_add_(0, g, torch.ones(g.numel(), device=g.device))
    sums = torch.zeros(n_groups, dtype=v.dtype, device=v.device).index_add_(0, g, v)
    return sums / counts.clamp(min=1).to(v.dtype), counts


def mend_group_averages(utils: ModuleType) -> None:
    """Let `wilds.common.utils` average over groups without `torch_scatter`, where that is not installed."""
    if importlib.util.find_spec("torch_scatter") is not None:
        return
    _replace("avg_over_groups", utils.avg_over_groups, average_over_groups, utils)


def mend_worst_groups(utils: ModuleType) -> None:
    """Let the worst of groups that are all NaN be NaN, where `wilds.common.utils` ends in torch's words on dimensions.

    A run that diverges has such groups; with the mend the loss itself tells.
    """
    for name in ("minimum", "maximum"):
        _replace(name, getattr(utils, name), _or_nan(getattr(utils, name)), utils)


def _or_nan(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def worst(numbers: Any, *arguments: Any, **keywords: Any) -> Any:
        if isinstance(numbers, torch.Tensor) and numbers.numel() and torch.isnan(numbers).all():
            return numbers.flatten()[0]
        return original(numbers, *arguments, **keywords)

    return worst


def _replace(name: str, original: Any, replacement: Any, utils: ModuleType) -> None:
    """Put the replacement in place, also in modules that were imported earlier and hold the original by name."""
    setattr(utils, name, replacement)
    for key, module in list(sys.modules.items()):
        if key.startswith("wilds.") and getattr(module, name, None) is original:
            setattr(module, name, replacement)


def mend_utils(utils: ModuleType) -> None:
    """All that `wilds.common.utils` needs; a second time changes nothing."""
    if not hasattr(utils.maximum, "__wrapped__"):
        mend_worst_groups(utils)
    mend_group_averages(utils)


def mend_wilds() -> None:
    """All that the `wilds` package itself needs, for programs that use it without a checkout."""
    import wilds.common.utils

    mend_utils(wilds.common.utils)
    # Pandas 3 hands out read-only columns; Camelyon17 makes tensors of them, which nobody writes to, and torch warns.
    warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning, r"wilds\.")
