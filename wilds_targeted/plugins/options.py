"""The options that every registered transform shares."""

from __future__ import annotations

from typing import Any

from wilds_targeted import OptionSpec, hookimpl


@hookimpl
def register_options() -> list[OptionSpec]:
    """How often a registered transform is applied, and its parameters."""
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
