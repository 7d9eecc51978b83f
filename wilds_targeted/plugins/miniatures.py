"""The model for miniatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wilds_targeted import ModelSpec, hookimpl

if TYPE_CHECKING:
    from torch import nn


@hookimpl
def register_models() -> list[ModelSpec]:
    """One small network."""
    return [
        ModelSpec(
            name="miniature-cnn",
            build=build_miniature_cnn,
            summary="Five 3x3 convolutions, from scratch: learns a miniature on one CPU core in about a minute.",
            defaults={"target_resolution": (36, 48), "model_kwargs": {}},
        )
    ]


def build_miniature_cnn(d_out: int | None, **model_kwargs: int) -> nn.Module:
    """The network; torch is imported only when one is built."""
    from wilds_targeted.models.miniature_cnn import MiniatureCNN

    return MiniatureCNN(d_out, **model_kwargs)
