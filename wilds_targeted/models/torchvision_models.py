"""Image models of torchvision, whole or as featurizers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

import torch
import torchvision
from torch import nn

from wilds_targeted.errors import ConfigError, DataError, one_line
from wilds_targeted.models.weights import read_state

_CONSTRUCTORS = {"wideresnet50": "wide_resnet50_2"}
_LAST_LAYERS = {"densenet121": "classifier", "efficientnet_b0": "classifier.1"}


def build_torchvision_model(
    name: str, d_out: int | None, *, pretrained: bool = True, weights: str | None = None, **keywords: Any
) -> nn.Module:
    """A torchvision model whose last layer has so many outputs; None makes it a featurizer.

    The model is first built for ImageNet's classes and then gets its last layer, as WILDS does it: the random draws
    are the same.

    Args:
        name: WILDS's name of the model.
        d_out: How many outputs, or None.
        pretrained: Whether to start from the ImageNet weights that torchvision called ``pretrained``: those in its
            cache, or else downloaded.
        weights: A file with these weights (or others of the same model); then nothing is looked for elsewhere.
        **keywords: For torchvision's constructor.
    """
    constructor = _CONSTRUCTORS.get(name, name)
    if weights is not None and not Path(str(weights)).is_file():
        raise ConfigError(f"--model_kwargs weights={weights}: there is no such file of weights.")
    published: Any = torchvision.models.get_model_weights(constructor)["IMAGENET1K_V1"]
    wanted = published if pretrained and weights is None else None
    try:
        model: Any = getattr(torchvision.models, constructor)(weights=wanted, **keywords)
    except TypeError as error:
        raise ConfigError(f"--model {name} with {keywords}: {error}") from error
    except (URLError, OSError) as error:
        raise DataError(
            f"the ImageNet weights of {name} could not be downloaded from {published.url} ({error}). Put the file into "
            f"{Path(torch.hub.get_dir()) / 'checkpoints'} or give it with --model_kwargs weights=PATH, or start from "
            f"random weights with --model_kwargs pretrained=False."
        ) from error
    if weights is not None:
        _load_all(model, str(weights), name)
    path, _, last = _LAST_LAYERS.get(name, "fc").rpartition(".")
    parent = model.get_submodule(path)
    d_features = getattr(parent, last).in_features
    setattr(parent, last, nn.Identity() if d_out is None else nn.Linear(d_features, d_out))
    model.d_out = d_features if d_out is None else d_out
    return model  # type: ignore[no-any-return]


def _load_all(model: nn.Module, path: str, name: str) -> None:
    """Load the weights of a file, every one of which must be there and fit."""
    try:
        model.load_state_dict(read_state(path))
    except RuntimeError as error:
        reason = one_line(error).partition(": ")[2]
        raise DataError(f"{path}: does not hold torchvision's weights of {name} ({reason[:160]} …).") from error


def missing_weights(name: str) -> Path | None:
    """Where the ImageNet weights of that model would lie; None if they are there, or it is not torchvision's."""
    constructor = _CONSTRUCTORS.get(name, name)
    if constructor not in torchvision.models.list_models():
        return None
    weights = torchvision.models.get_model_weights(constructor)["IMAGENET1K_V1"]
    path = Path(torch.hub.get_dir()) / "checkpoints" / Path(urlsplit(weights.url).path).name
    return None if path.is_file() else path


def refuse_unasked_download(config: Any, given: Mapping[str, Any]) -> None:
    """Let torchvision download weights only where somebody asked for it: by name, or with --download.

    Args:
        config: The final configuration; its ``model_kwargs`` may be settled.
        given: The model's keywords on the command line.
    """
    asked = "pretrained" in given or given.get("weights") is not None
    by_default = config.model_kwargs.get("pretrained") is True and not asked
    if by_default and config.eval_only:
        config.model_kwargs["pretrained"] = False  # a saved model replaces all weights at once
    elif by_default and not config.download:
        missing = missing_weights(config.model)
        if missing is not None:
            raise ConfigError(
                f"--model {config.model} starts from ImageNet weights by default, and they are not at {missing}. "
                f"--model_kwargs pretrained=True downloads them, weights=PATH takes them from a file, pretrained=False "
                f"starts from random weights."
            )
