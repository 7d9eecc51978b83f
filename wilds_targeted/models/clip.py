"""The image towers of CLIP models, as open_clip builds them, with a linear head or as featurizers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import open_clip
import torch
from open_clip.modified_resnet import ModifiedResNet
from open_clip.transformer import QuickGELU, VisionTransformer
from torch import nn

from wilds_targeted.errors import ConfigError, DataError, closest, one_line
from wilds_targeted.models.clip_towers import Tower
from wilds_targeted.models.clip_weights import TowerWeights, load_tower, read_tower
from wilds_targeted.normalization import CLIP, NAMED, Normalization

FEATURES = ("pooled", "projected", "reference")


class ClipClassifier(nn.Module):
    """An image tower and a linear head; without a head, a featurizer.

    Args:
        tower: Maps images to features.
        d_features: How many.
        d_out: How many outputs; None for a featurizer.
        normalization: What its images are normalized with, by those who feed it.

    Attributes:
        d_out: How many numbers a call gives for an image: outputs, or features.
    """

    def __init__(
        self, tower: nn.Module, d_features: int, d_out: int | None, normalization: Normalization = CLIP
    ) -> None:
        super().__init__()
        self.tower = tower
        self.normalization = normalization
        self.head: nn.Module = nn.Identity() if d_out is None else nn.Linear(d_features, d_out)
        self.d_out = d_features if d_out is None else d_out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Outputs (or features) of a batch of images, batch x 3 x height x width."""
        outputs: torch.Tensor = self.head(self.tower(x))
        return outputs

    def set_grad_checkpointing(self) -> None:
        """Compute the blocks' intermediate values again for the gradient, instead of keeping them."""
        tower: Any = self.tower
        tower.set_grad_checkpointing(True)
        # A tower that can't do it says nothing, or writes a line to a log that nobody reads.
        if not any(getattr(module, "grad_checkpointing", False) for module in tower.modules()):
            raise ConfigError("--gradient_checkpointing: this image tower does not offer it. Leave the flag out.")

    # Weights fit a tower with another activation and images with another normalization as well as their own, and the
    # model is worse without a word. So a model's file keeps both beside its weights, and is refused where they differ.

    def get_extra_state(self) -> torch.Tensor:
        """Activation, mean and standard deviation, for `state_dict`."""
        has_quick_gelu = any(isinstance(module, QuickGELU) for module in self.tower.modules())
        return torch.tensor([float(has_quick_gelu), *self.normalization.mean, *self.normalization.std])

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Refuse weights that were trained with another activation or normalization."""
        own = self.get_extra_state()
        state = state.to(own.device, own.dtype)
        if torch.equal(state, own):
            return
        activation, *values = state.tolist()
        trained = [f"quick_gelu={str(bool(activation)).lower()}", f"normalization={_name_normalization(values)}"]
        raise ConfigError(
            f"these weights were trained with other settings than this model has. Give --model_kwargs "
            f"{' '.join(trained)} with the others that they were trained with."
        )


def _name_normalization(values: Sequence[float]) -> str:
    """The name under which `--model_kwargs` knows this mean and standard deviation."""
    known = {name: torch.tensor([*each.mean, *each.std]).tolist() for name, each in NAMED.items()}
    return next((name for name, each in known.items() if each == values), "(another)")


def build_clip(
    tower: Tower,
    d_out: int | None,
    *,
    pretrained: str | bool | None = None,
    weights: str | None = None,
    features: str = "pooled",
    quick_gelu: bool | None = None,
    freeze: int = 0,
    image_size: Sequence[int] | None = None,
    normalization: Normalization = CLIP,
) -> ClipClassifier:
    """An image tower with a linear head of so many outputs; None makes it a featurizer.

    Args:
        tower: Which.
        d_out: How many outputs, or None.
        pretrained: One of open_clip's tags, such as ``openai``: weights that open_clip downloads, or has in its cache.
            False or None for none.
        weights: A file or folder with weights instead; `wilds_targeted.models.clip_weights` tells in which forms.
        features: What the head sees: the ``pooled`` token after the last norm, the same ``projected`` to where CLIP
            compares it with text, or, as the authors' code has it, the raw class token (``reference``).
        quick_gelu: Which activation; by default the one that the weights state or, if they don't, the tower's own.
        freeze: The embeddings and so many of the lowest blocks keep their weights.
        image_size: Height and width of the images; the tower's own by default. Position embeddings are interpolated.
        normalization: What the images are normalized with; a saved model is refused where it is another.
    """
    if features not in FEATURES:
        raise ConfigError(
            f"--model_kwargs features={features}: it is one of {', '.join(FEATURES)}{closest(str(features), FEATURES)}."
        )
    if quick_gelu not in (None, True, False):
        raise ConfigError(f"--model_kwargs quick_gelu={quick_gelu}: it is true or false.")
    found = _find_weights(tower, pretrained, weights)
    stated = None if found is None else found.quick_gelu
    activation = next(each for each in (quick_gelu, stated, tower.quick_gelu) if each is not None)
    size = tower.image_size if image_size is None else _pair(image_size)
    model = _build_tower(tower, size, quick_gelu=activation)
    if isinstance(model, VisionTransformer):
        # What is left out here need not be in the file.
        d_features = _strip_transformer(model, features, tower)
        if found is not None:
            load_tower(model, found, tower.title)
    else:
        if found is not None:
            load_tower(model, found, tower.title)
        d_features = _strip_other(model, features, tower)
        _fit_other(model, size, tower)
    _freeze(model, freeze, tower)
    if found is not None:
        print(f"Initialized {tower.title} with the weights of {found.path} ({'quick GELU' if activation else 'GELU'})")
    return ClipClassifier(model, d_features, d_out, normalization)


def _find_weights(tower: Tower, pretrained: str | bool | None, weights: str | None) -> TowerWeights | None:
    """The weights that are asked for; None for random ones."""
    if weights is not None:
        if pretrained:
            raise ConfigError(
                f"--model_kwargs: weights={weights} and pretrained={pretrained} were both given; give one."
            )
        return read_tower(str(weights))  # WILDS makes a number of a name that looks like one
    if pretrained is None or pretrained is False:
        return None
    tags = open_clip.list_pretrained_tags_by_model(tower.architecture)
    if pretrained is True or pretrained not in tags:
        raise ConfigError(
            f"--model_kwargs pretrained={pretrained}: for {tower.architecture} open_clip can download "
            f"{', '.join(tags) or 'no weights'}{closest(str(pretrained), tags)}."
        )
    described = open_clip.get_pretrained_cfg(tower.architecture, pretrained)
    try:
        path = open_clip.download_pretrained(described)
    except Exception as error:  # what a hub's library raises without a network is not for us to list
        raise DataError(
            f"the weights {pretrained!r} of {tower.architecture} could not be downloaded "
            f"({type(error).__name__}: {one_line(error)[:200]}). Bring the file here and give it with "
            f"--model_kwargs weights=PATH."
        ) from error
    found = read_tower(path)
    return dataclasses.replace(found, quick_gelu=described.get("quick_gelu", found.quick_gelu))


def _pair(size: Sequence[int]) -> tuple[int, int]:
    """Height and width, of one number or two."""
    height, width = (*size, *size)[:2]
    return int(height), int(width)


def _build_tower(tower: Tower, size: tuple[int, int], *, quick_gelu: bool) -> nn.Module:
    """The tower with random weights, made for images of that size."""
    vision = {**tower.vision, "timm_model_pretrained": False, "output_tokens": False}
    patch = vision.get("patch_size")
    if isinstance(patch, int) and min(size) < patch:
        raise ConfigError(f"--target_resolution {size[0]} {size[1]}: {tower.title} has patches of {patch} pixels.")
    if isinstance(vision.get("layers"), list):
        if size[0] != size[1]:
            raise ConfigError(f"--target_resolution {size[0]} {size[1]}: {tower.title} takes square images only.")
        vision["image_size"] = size[0]
    elif "timm_model_name" not in vision:
        vision["image_size"] = size
    # Open_clip's public constructors make the text tower as well, and for some models ask the network for it. This
    # one makes the image tower alone; `open_clip.CLIP` calls it in the same way.
    from open_clip.model import _build_vision_tower

    try:
        model: nn.Module = _build_vision_tower(tower.embed_dim, vision, quick_gelu)
    except Exception as error:  # what a description of one's own makes open_clip raise is not for us to list
        raise ConfigError(
            f"open_clip can't build the image tower of {tower.title} ({type(error).__name__}: {one_line(error)})."
        ) from error
    return model


def _strip_transformer(model: VisionTransformer, features: str, tower: Tower) -> int:
    """Leave out the layers behind the features that are wanted; how many features there are."""
    if features == "projected":
        return int(model.proj.shape[1])
    d_features = int(model.proj.shape[0])
    model.proj = None
    if features == "reference":
        if model.attn_pool is not None or model.pool_type != "tok":
            raise ConfigError(f"--model_kwargs features=reference: {tower.title} has no class token. Use pooled.")
        model.ln_post = nn.Identity()
    return d_features


def _strip_other(model: Any, features: str, tower: Tower) -> int:
    """The same for towers of timm, and for CLIP's ResNets, whose pooling and projection are one layer."""
    if features == "reference":
        raise ConfigError(f"--model_kwargs features=reference: {tower.title} has no class token. Use pooled.")
    if isinstance(model, ModifiedResNet):
        if features == "pooled":
            raise ConfigError(
                f"--model_kwargs features=pooled: {tower.title} pools and projects at once: use projected."
            )
        return int(model.output_dim)
    if features == "pooled":
        model.trunk.reset_classifier(0)
        model.head = nn.Identity()
        return int(model.trunk.head_hidden_size)
    return tower.embed_dim


def _fit_other(model: Any, size: tuple[int, int], tower: Tower) -> None:
    """Fit a tower of timm to the images, where they are not of its own size."""
    if isinstance(model, ModifiedResNet) or size == tower.image_size:
        return
    trunk = model.trunk
    if hasattr(trunk, "set_input_size"):
        trunk.set_input_size(img_size=size)
    elif getattr(trunk, "pos_embed", None) is not None:
        height, width = tower.image_size
        raise ConfigError(
            f"--target_resolution {size[0]} {size[1]}: {tower.title} takes {height} x {width} only. Give "
            f"--target_resolution {height} {width}."
        )


def _freeze(model: nn.Module, blocks: int, tower: Tower) -> None:
    """Keep the weights of the embeddings and the lowest blocks."""
    if blocks == 0:
        return
    if not isinstance(model, VisionTransformer):
        raise ConfigError(f"--model_kwargs freeze={blocks}: {tower.title} is no transformer of open_clip's own.")
    count = len(model.transformer.resblocks)
    if isinstance(blocks, bool) or not isinstance(blocks, int) or not 0 < blocks <= count:
        raise ConfigError(
            f"--model_kwargs freeze={blocks}: {tower.title} has {count} blocks, so 0 to {count} can be kept."
        )
    model.class_embedding.requires_grad_(False)
    model.positional_embedding.requires_grad_(False)
    for module in (model.conv1, model.ln_pre, *model.transformer.resblocks[:blocks]):
        module.requires_grad_(False)


def parameter_groups(model: nn.Module, config: Any) -> list[dict[str, Any]]:
    """What learns, in two groups: weight decay does not apply to biases, norms and the class token."""
    learning = [each for each in model.parameters() if each.requires_grad]
    return [
        {"params": [each for each in learning if each.ndim > 1]},
        {"params": [each for each in learning if each.ndim <= 1], "weight_decay": 0.0},
    ]


def published_normalization(tower: Tower, tag: str | None) -> Normalization:
    """What the weights of that tag were trained with; without a tag, what all weights of that tower were, or CLIP's."""
    published = open_clip.list_pretrained_tags_by_model(tower.architecture)
    tags = [each for each in published if tag in (None, each)]
    described = [open_clip.get_pretrained_cfg(tower.architecture, each) for each in tags]
    found = {Normalization(each["mean"] or CLIP.mean, each["std"] or CLIP.std) for each in described}
    return found.pop() if len(found) == 1 else CLIP
