"""The image models that WILDS takes from torchvision; in a WILDS checkout these names stay WILDS's own."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from wilds_targeted import ModelSpec, hookimpl
from wilds_targeted.choice import WILDS_MODELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn


@hookimpl
def register_models() -> list[ModelSpec]:
    """ResNets and a DenseNet, pretrained on ImageNet unless `pretrained=False` says otherwise."""
    return [
        ModelSpec(
            name,
            _builder(name),
            "By torchvision; --model_kwargs pretrained=False starts from random weights.",
            {"model_kwargs": {"pretrained": True}, "target_resolution": (224, 224)},
        )
        for name in WILDS_MODELS
    ]


def _builder(name: str) -> Callable[..., nn.Module]:
    @functools.wraps(_build)
    def build(d_out: int | None, **keywords: Any) -> nn.Module:
        return _build(name, d_out, **keywords)

    return build


def _build(name: str, d_out: int | None, **keywords: Any) -> nn.Module:
    from wilds_targeted.models.torchvision_models import build_torchvision_model

    return build_torchvision_model(name, d_out, **keywords)
