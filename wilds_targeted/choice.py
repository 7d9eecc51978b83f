"""Which registered transforms a run asks for, and whether its options fit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wilds_targeted.errors import ConfigError, ParameterError, closest
from wilds_targeted.normalization import IMAGENET, Normalization
from wilds_targeted.registry import Registry
from wilds_targeted.specs import Level, ModelSpec, TransformSpec, thaw

WILDS_TRANSFORMS = ("bert", "image_base", "image_resize", "image_resize_and_center_crop", "poverty", "rxrx1")
"""What ``--transform`` means without us; these names stay WILDS's own."""

WILDS_ADDITIONAL_TRANSFORMS = ("randaugment", "weak", "fixmatch")
"""What ``--additional_train_transform`` means without us (``fixmatch`` only inside WILDS)."""

WILDS_MODELS = ("resnet18", "resnet34", "resnet50", "resnet101", "wideresnet50", "densenet121")
"""The image models that WILDS has, too; with them a data set's ``model_kwargs`` hold whatever its default model."""

MIXING_ALGORITHM = "ERM"
"""The one algorithm around which batches can be mixed: its objective is an average over labels, which can be, too."""

NO_ADDITIONAL_TRANSFORM = "none"
"""Switches off the additional transform that WILDS sets for some algorithms."""


def chosen_transforms(transform: str | None, additional: str | None, registry: Registry) -> list[str]:
    """The registered ones among the values of ``--transform`` and ``--additional_train_transform``."""
    chosen = []
    if transform is not None and transform in registry.transforms and transform not in WILDS_TRANSFORMS:
        chosen.append(transform)
    if additional is not None and additional in registry.transforms and additional not in WILDS_ADDITIONAL_TRANSFORMS:
        chosen.append(additional)
    return chosen


def finalize_config(config: Any, registry: Registry) -> None:
    """Settle our own options in a configuration whose defaults are filled in, and let the plugins check it.

    ``none`` becomes no additional transform; ``transform_kwargs`` becomes a dictionary of checked values.
    """
    if config.additional_train_transform == NO_ADDITIONAL_TRANSFORM:
        config.additional_train_transform = None
    chosen = chosen_transforms(config.transform, config.additional_train_transform, registry)
    assignments = parse_assignments(config.transform_kwargs)
    if assignments and not chosen:
        raise ConfigError(
            f"--transform_kwargs goes with a registered transform, and --transform {config.transform} is WILDS's own. "
            f"`wilds-targeted plugins` lists the registered ones."
        )
    specs = [registry.transforms[name] for name in chosen]
    mixing = [spec.name for spec in specs if spec.level is Level.BATCH]
    if mixing and config.algorithm != MIXING_ALGORITHM:
        raise ConfigError(
            f"transform {mixing[0]!r} mixes the labels of a batch, which only --algorithm {MIXING_ALGORITHM} can train "
            f"on, and --algorithm {config.algorithm} was asked for. Change either."
        )
    values: dict[str, Any] = {}
    for checked in check_parameters(specs, config.dataset, config.transform_p, assignments):
        values.update((name, value) for name, value in checked.items() if name in assignments)
    config.transform_kwargs = values
    registry.check_config(config)


def settle_model(config: Any, given: Any, default_model: str | None, spec: ModelSpec | None) -> None:
    """Give a registered model its own keywords and, if it is built for one, its own resolution.

    WILDS's data sets bring those of their own default model, such as ``pretrained``, whatever model is asked for.

    Args:
        config: Its ``model_kwargs`` and ``target_resolution`` are settled.
        given: The configuration as it was before defaults were filled in.
        default_model: The data set's own model.
        spec: The model that is asked for; None where it is WILDS's.
    """
    if spec is None:
        return
    if default_model != spec.name:
        config.model_kwargs = {**thaw(spec.defaults.get("model_kwargs", {})), **given.model_kwargs}
    if spec.takes_resolution:
        if given.target_resolution is None:
            config.target_resolution = spec.defaults.get("target_resolution")
        config.model_kwargs["image_size"] = config.target_resolution


def normalization_of(config: Any, registry: Registry) -> Normalization:
    """What the configured model's images are normalized with."""
    spec = registry.models.get(config.model)
    if spec is None or spec.normalization is None:
        return IMAGENET
    return spec.normalization(config.model_kwargs)


def settle_optimizer_kwargs(config: Any, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Take from another optimizer than the data set's own the keywords that the data set brought.

    WILDS's data sets bring those of their default optimizer, such as SGD's ``momentum``, whichever is asked for; Adam
    then fails on them.

    Args:
        config: Its ``optimizer_kwargs`` are settled.
        given: The keywords of the command line.
        defaults: The data set's own defaults.
    """
    if config.optimizer != defaults.get("optimizer"):
        brought = set(defaults.get("optimizer_kwargs", {})) - set(given)
        config.optimizer_kwargs = {key: value for key, value in config.optimizer_kwargs.items() if key not in brought}


def check_parameters(
    specs: Sequence[TransformSpec], dataset_name: str, p: float, parameters: Mapping[str, object]
) -> list[dict[str, Any]]:
    """For each transform its parameters, converted and checked; raises where anything does not fit.

    A parameter goes to every transform that knows it, and one that none knows is refused.
    """
    if not 0 <= p <= 1:
        raise ParameterError(f"transform_p={p}: a probability from 0 to 1 is expected")
    mixing = [spec.name for spec in specs if spec.level is Level.BATCH]
    if len(mixing) > 1:
        raise ConfigError(f"a batch can be mixed once: give one of {' and '.join(mixing)}, not both.")
    for spec in specs:
        if not spec.serves(dataset_name):
            raise ConfigError(
                f"transform {spec.name!r} serves {', '.join(spec.datasets)}, not {dataset_name!r}. "
                f"`wilds-targeted plugins` lists what serves it."
            )
    known = {parameter.name for spec in specs for parameter in spec.parameters}
    unknown = [name for name in parameters if name not in known]
    if unknown and len(specs) > 1:
        titles = " and ".join(repr(spec.name) for spec in specs)
        allowed = "; ".join(str(parameter) for spec in specs for parameter in spec.parameters) or "none"
        raise ParameterError(
            f"neither of the transforms {titles} has a parameter {unknown[0]!r}{closest(unknown[0], known)}. "
            f"Allowed: {allowed}"
        )
    checked = []
    for spec in specs:
        mine = {parameter.name for parameter in spec.parameters}
        own = {name: value for name, value in parameters.items() if name in mine or len(specs) == 1}
        checked.append(spec.check(own))
    return checked


def parse_assignments(words: Sequence[str]) -> dict[str, str]:
    """``["alpha=0.2", "k=2"]`` as a dictionary of strings; the types come with the spec.

    >>> parse_assignments(["alpha=0.2", "k=2"])
    {'alpha': '0.2', 'k': '2'}
    """
    assignments = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ParameterError(f"--transform_kwargs takes name=value, got {word!r}")
        if name in assignments:
            raise ParameterError(f"--transform_kwargs sets {name!r} twice")
        assignments[name] = value
    return assignments
