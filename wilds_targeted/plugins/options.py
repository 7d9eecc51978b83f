"""The options that belong to no single transform, model or algorithm."""

from __future__ import annotations

from typing import Any

from wilds_targeted import OptionSpec, hookimpl


@hookimpl
def register_options() -> list[OptionSpec]:
    """How often a registered transform is applied, and its parameters; and what makes large models fit."""
    return [
        OptionSpec(
            "--transform_p",
            "Probability of a registered augmentation for a training example, and, with a coin of its own, of the "
            "horizontal flip beside it on iWildCam (default 1; the paper tunes it between 0.5 and 0.9).",
            type=_probability,
            default=1.0,
            metavar="P",
        ),
        OptionSpec(
            "--transform_kwargs",
            "Parameters of a registered transform as name=value …; `wilds-targeted plugins show NAME` lists them.",
            default=(),
            nargs="*",
            metavar="NAME=VALUE",
        ),
        OptionSpec(
            "--amp",
            "Mixed precision: `bf16` computes the model's outputs in bfloat16; weights and losses stay in float32.",
            type=_precision,
            metavar="bf16",
        ),
        OptionSpec(
            "--gradient_checkpointing",
            "Less memory for more time: compute intermediate values again for the gradient, where the model offers it.",
            type=_boolean,
            default=False,
            nargs="?",
            const=True,
            metavar="true|false",
        ),
    ]


@hookimpl
def check_config(config: Any) -> None:
    """Refuse what a registered transform can't be combined with."""
    from wilds_targeted.choice import chosen_transforms
    from wilds_targeted.errors import ConfigError
    from wilds_targeted.registry import get_registry

    chosen = chosen_transforms(config.transform, config.additional_train_transform, get_registry())
    if chosen and getattr(config, "unlabeled_split", None) is not None:
        raise ConfigError(
            f"transform {chosen[0]!r} needs labeled examples, and WILDS would give the unlabeled split "
            f"{config.unlabeled_split!r} the same transform. Leave out --unlabeled_split."
        )


def _probability(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"{word!r} is not a probability: a number from 0 to 1 is expected")
    return value


def _precision(word: str) -> str:
    if word != "bf16":
        raise ValueError(f"{word!r}: only bf16 is offered")
    return word


def _boolean(word: str) -> bool:
    if word.lower() not in ("true", "false"):
        raise ValueError(f"{word!r}: true or false is expected")
    return word.lower() == "true"
