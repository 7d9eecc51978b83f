"""CLIP's image towers: OpenAI's ViT-L/14, which the paper finetunes, and every other that open_clip knows."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wilds_targeted import ModelSpec, hookimpl

if TYPE_CHECKING:
    from torch import nn

    from wilds_targeted.models.clip_towers import Tower
    from wilds_targeted.normalization import Normalization

PAPERS_MODEL = "clip-vit-large-patch14"
_PAPER = "section 5, CLIP ViT-L/14, and appendix on hyperparameters"
_KEYWORDS = (
    "--model_kwargs: weights=PATH (open_clip's, OpenAI's or Hugging Face's) or pretrained=TAG (open_clip downloads) or "
    "pretrained=False (random); features=pooled|projected|reference; freeze=BLOCKS; quick_gelu=true|false; "
    "normalization=clip|imagenet|inception|unit."
)


@hookimpl
def register_models() -> list[ModelSpec]:
    """One model by the name that Hugging Face gives it, the others by open_clip's."""
    return [
        ModelSpec(
            PAPERS_MODEL,
            functools.partial(_build, PAPERS_MODEL),
            f"OpenAI's CLIP ViT-L/14 at 224 x 224, with a linear head. {_KEYWORDS}",
            defaults={"target_resolution": (224, 224), "model_kwargs": {}},
            paper=_PAPER,
            parameter_groups=_parameter_groups,
            takes_resolution=True,
            normalization=functools.partial(_normalization, PAPERS_MODEL),
        ),
        ModelSpec(
            "clip:NAME",
            _build_unnamed,
            "The image tower that open_clip calls NAME (clip:ViT-B-32), or that a file describes (clip:tower.json), "
            "with a linear head. Its --model_kwargs are those of clip-vit-large-patch14.",
            parameter_groups=_parameter_groups,
            takes_resolution=True,
            member=member,
            example="ViT-S-32",
        ),
    ]


@hookimpl
def check_config(config: Any) -> None:
    """Where the first weights come from must be said: nothing downloads unasked, and random ones rarely are meant."""
    from wilds_targeted.errors import ConfigError

    if config.model != PAPERS_MODEL and not config.model.startswith("clip:"):
        return
    known = config.eval_only or config.pretrained_model_path is not None
    if not known and "pretrained" not in config.model_kwargs and config.model_kwargs.get("weights") is None:
        raise ConfigError(
            f"--model {config.model}: say where its weights come from. --model_kwargs pretrained=openai lets open_clip "
            f"download OpenAI's, weights=PATH takes them from a file or folder, pretrained=False starts from random "
            f"weights."
        )


def member(name: str) -> ModelSpec:
    """The model ``clip:NAME``."""
    tower = _tower(f"clip:{name}")
    return ModelSpec(
        tower.title,
        functools.partial(_build, tower.title),
        f"Open_clip's image tower {tower.architecture}, with a linear head. {_KEYWORDS}",
        defaults={"target_resolution": tower.image_size, "model_kwargs": {}},
        parameter_groups=_parameter_groups,
        takes_resolution=True,
        normalization=functools.partial(_normalization, tower.title),
    )


def _tower(title: str) -> Tower:
    from wilds_targeted.models.clip_towers import find_tower

    # Open_clip's own "ViT-L-14" has another activation than OpenAI's weights were trained with.
    return find_tower("ViT-L-14-quickgelu" if title == PAPERS_MODEL else title.partition(":")[2], title)


def _build(title: str, d_out: int | None, **model_kwargs: Any) -> nn.Module:
    """The model; torch and open_clip are imported only when one is built."""
    from wilds_targeted.models.clip import build_clip

    return build_clip(_tower(title), d_out, **{**model_kwargs, "normalization": _normalization(title, model_kwargs)})


def _build_unnamed(d_out: int | None, **keywords: Any) -> nn.Module:
    from wilds_targeted.errors import ConfigError

    raise ConfigError("--model clip:NAME: put one of open_clip's names in the place of NAME, such as clip:ViT-B-32.")


def _parameter_groups(model: nn.Module, config: Any) -> list[dict[str, Any]]:
    from wilds_targeted.models.clip import parameter_groups

    return parameter_groups(model, config)


def _normalization(title: str, model_kwargs: Mapping[str, Any]) -> Normalization:
    """The one that is asked for, or ImageNet's as in the authors' code, or that of the weights, or CLIP's."""
    from wilds_targeted.errors import ConfigError, closest
    from wilds_targeted.normalization import IMAGENET, NAMED

    asked = model_kwargs.get("normalization")
    if asked is not None:
        if asked not in NAMED:
            raise ConfigError(
                f"--model_kwargs normalization={asked}: it is one of {', '.join(NAMED)}{closest(str(asked), NAMED)}."
            )
        return NAMED[asked]
    if model_kwargs.get("features") == "reference":
        return IMAGENET
    from wilds_targeted.models.clip import published_normalization

    tag = model_kwargs.get("pretrained")
    return published_normalization(_tower(title), tag if isinstance(tag, str) else None)
