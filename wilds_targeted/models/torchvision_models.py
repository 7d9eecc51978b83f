"""ResNets and DenseNets of torchvision, whole or as featurizers."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

import torch
import torchvision
from torch import nn

from wilds_targeted.errors import ConfigError, DataError

_CONSTRUCTORS = {"wideresnet50": "wide_resnet50_2"}
_LAST_LAYERS = {"densenet121": "classifier"}


def build_torchvision_model(name: str, d_out: int | None, *, pretrained: bool = True, **keywords: Any) -> nn.Module:
    """A torchvision model whose last layer has so many outputs; None makes it a featurizer.

    The model is first built for ImageNet's classes and then gets its last layer, as WILDS does it: the random draws
    are the same.

    Args:
        name: WILDS's name of the model.
        d_out: How many outputs, or None.
        pretrained: Whether to start from the ImageNet weights that torchvision called ``pretrained``.
        **keywords: For torchvision's constructor.
    """
    constructor = _CONSTRUCTORS.get(name, name)
    weights: Any = torchvision.models.get_model_weights(constructor)["IMAGENET1K_V1"]
    try:
        model: Any = getattr(torchvision.models, constructor)(weights=weights if pretrained else None, **keywords)
    except TypeError as error:
        raise ConfigError(f"--model {name} with {keywords}: {error}") from error
    except (URLError, OSError) as error:
        raise DataError(
            f"the ImageNet weights of {name} could not be downloaded from {weights.url} ({error}). Put the file into "
            f"{Path(torch.hub.get_dir()) / 'checkpoints'}, or start from random weights with "
            f"--model_kwargs pretrained=False."
        ) from error
    last = _LAST_LAYERS.get(name, "fc")
    d_features = getattr(model, last).in_features
    setattr(model, last, nn.Identity() if d_out is None else nn.Linear(d_features, d_out))
    model.d_out = d_features if d_out is None else d_out
    return model  # type: ignore[no-any-return]


def missing_weights(name: str) -> Path | None:
    """Where the ImageNet weights of that model would lie; None if they are there, or it is not torchvision's."""
    constructor = _CONSTRUCTORS.get(name, name)
    if constructor not in torchvision.models.list_models():
        return None
    weights = torchvision.models.get_model_weights(constructor)["IMAGENET1K_V1"]
    path = Path(torch.hub.get_dir()) / "checkpoints" / Path(urlsplit(weights.url).path).name
    return None if path.is_file() else path
