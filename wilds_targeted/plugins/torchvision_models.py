"""Image models of torchvision: those that WILDS has, too (its own in a WILDS checkout), and BirdCalls' EfficientNet."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from wilds_targeted import ModelSpec, hookimpl
from wilds_targeted.choice import WILDS_MODELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn


_PAPER = {"efficientnet_b0": "appendix A.3 and appendix on hyperparameters: BirdCalls"}


@hookimpl
def register_models() -> list[ModelSpec]:
    """ResNets, a DenseNet and an EfficientNet, pretrained on ImageNet unless `pretrained=False` says otherwise."""
    return [
        ModelSpec(
            name,
            _builder(name),
            "By torchvision; --model_kwargs weights=PATH takes its ImageNet weights from a file, pretrained=False "
            "starts from random ones.",
            {"model_kwargs": {"pretrained": True}, "target_resolution": (224, 224)},
            paper=_PAPER.get(name, ""),
        )
        for name in (*WILDS_MODELS, "efficientnet_b0")
    ]


def _builder(name: str) -> Callable[..., nn.Module]:
    @functools.wraps(_build)
    def build(d_out: int | None, **keywords: Any) -> nn.Module:
        return _build(name, d_out, **keywords)

    return build


def _build(name: str, d_out: int | None, **keywords: Any) -> nn.Module:
    from wilds_targeted.models.torchvision_models import build_torchvision_model

    return build_torchvision_model(name, d_out, **keywords)
