"""Stand-in for WILDS's models: torchvision's classifiers and a linear one."""
# ruff: noqa: I001
# The order of the imports is WILDS's: the bridge's hooks depend on it.

import torch.nn as nn

from models.layers import Identity
from utils import load


def initialize_model(config, d_out, is_featurizer=False):
    """Return a model or, with is_featurizer, the pair of featurizer and classifier."""
    split = is_featurizer or config.load_featurizer_only
    if config.model in ("resnet18", "resnet34", "resnet50", "densenet121"):
        model = initialize_torchvision_model(config.model, None if split else d_out, **config.model_kwargs)
    elif config.model == "logistic_regression":
        model = initialize_linear_model(config, None if split else d_out)
    else:
        raise ValueError(f"The stand-in has no model {config.model}.")
    if split:
        model = (model, nn.Linear(model.d_out, d_out))

    if config.pretrained_model_path is not None:
        whole = nn.Sequential(*model) if split else model
        part = model[0] if config.load_featurizer_only else whole
        load(part, config.pretrained_model_path, device=config.device)

    if split and not is_featurizer:
        model = nn.Sequential(*model)
    for part in model if is_featurizer else (model,):
        part.needs_y = False
    return model


def initialize_torchvision_model(name, d_out, pretrained=False, **kwargs):
    import torchvision

    weights = "IMAGENET1K_V1" if pretrained else None
    model = torchvision.models.get_model(name, weights=weights, **kwargs)
    last = "classifier" if name.startswith("densenet") else "fc"
    d_features = getattr(model, last).in_features
    setattr(model, last, Identity(d_features) if d_out is None else nn.Linear(d_features, d_out))
    model.d_out = d_out or d_features
    return model


def initialize_linear_model(config, d_out):
    height, width = config.target_resolution
    d_in = config.model_kwargs.get("in_features", 3 * height * width)
    model = nn.Sequential(nn.Flatten(), Identity(d_in) if d_out is None else nn.Linear(d_in, d_out))
    model.d_out = d_out or d_in
    return model
