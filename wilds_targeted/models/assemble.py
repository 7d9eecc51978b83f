"""The configured model, whole or as featurizer and classifier, with pretrained weights if they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from wilds_targeted.errors import ConfigError
from wilds_targeted.specs import ModelSpec


def assemble_model(
    spec: ModelSpec, config: Any, d_out: int, is_featurizer: bool, load_weights: Callable[[nn.Module, str], object]
) -> Any:
    """Build what `--model` names.

    Args:
        spec: The registered model.
        config: The final configuration.
        d_out: How many outputs.
        is_featurizer: Whether featurizer and classifier are wanted as a pair; else one module.
        load_weights: Loads the file of `--pretrained_model_path` into a module.
    """
    parts: tuple[Any, ...]
    try:
        if is_featurizer or config.load_featurizer_only:
            featurizer: Any = spec.build(None, **config.model_kwargs)
            parts = (featurizer, nn.Linear(featurizer.d_out, d_out))
        else:
            parts = (spec.build(d_out, **config.model_kwargs),)
    except TypeError as error:
        raise ConfigError(f"--model {spec.name} with --model_kwargs {config.model_kwargs}: {error}") from error
    whole = parts[0] if len(parts) == 1 else nn.Sequential(*parts)
    if config.pretrained_model_path is not None:
        load_weights(parts[0] if config.load_featurizer_only else whole, config.pretrained_model_path)
        print(f"Initialized {config.model} with the weights of {config.pretrained_model_path}")
    for part in (*parts, whole):
        part.needs_y = False  # WILDS asks every model whether its forward pass takes the labels
    return parts if is_featurizer else whole


def make_it_fit(model: Any, config: Any) -> Any:
    """A model, or a pair of featurizer and classifier, with ``--gradient_checkpointing`` and ``--amp`` as configured.

    Here, around the model, they serve WILDS's algorithms and ours alike.
    """
    parts = model if isinstance(model, tuple) else (model,)
    if config.gradient_checkpointing:
        checkpoint_gradients(parts[0], config.model)
    if config.amp is not None:
        for part in parts:
            compute_in_bfloat16(part)
    return model


def compute_in_bfloat16(module: nn.Module) -> None:
    """Let a module compute in bfloat16 where that is safe, and give its outputs in full precision.

    The module's class is replaced by a subclass, so that the names of its weights and its copies on other devices
    stay as they were.
    """

    def forward(self: Any, *inputs: Any, **keywords: Any) -> Any:
        device = next(each.device for each in inputs if isinstance(each, torch.Tensor))
        with torch.autocast(device.type, torch.bfloat16):
            outputs = super(mixed, self).forward(*inputs, **keywords)
        return outputs.float()

    kind = type(module)
    mixed: Any = type(kind.__name__, (kind,), {"forward": forward})
    module.__class__ = mixed


def checkpoint_gradients(model: nn.Module, name: str) -> None:
    """Trade time for memory: intermediate values are computed again for the gradient, where the model offers that.

    It may offer it as open_clip and timm do (`set_grad_checkpointing`), as transformers does
    (`gradient_checkpointing_enable`), or as torchvision's DenseNets do (layers that are `memory_efficient`).
    """
    if isinstance(model, nn.Sequential):  # featurizer and classifier, put together
        model = next(iter(model))
    for method in ("set_grad_checkpointing", "gradient_checkpointing_enable"):
        if hasattr(model, method):
            getattr(model, method)()
            return
    layers: list[Any] = [module for module in model.modules() if hasattr(module, "memory_efficient")]
    if not layers:
        raise ConfigError(f"--gradient_checkpointing: the model {name!r} does not offer it. Leave the flag out.")
    for layer in layers:
        layer.memory_efficient = True
