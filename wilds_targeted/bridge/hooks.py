"""What is added to each WILDS module, right after it was imported. One function a module; `install` has the table."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial, wraps
from types import ModuleType
from typing import Any

from wilds_targeted.choice import (
    NO_ADDITIONAL_TRANSFORM,
    chosen_transforms,
    finalize_config,
    normalization_of,
    settle_model,
    settle_optimizer_kwargs,
)
from wilds_targeted.errors import CheckoutError
from wilds_targeted.normalization import IMAGENET, Normalization
from wilds_targeted.registry import Shelf, get_registry
from wilds_targeted.specs import AlgorithmInputs, thaw

_wilds_own: dict[str, frozenset[str]] = {}
"""The names of models and algorithms that WILDS itself has; they stay WILDS's own."""


def extend_wilds(wilds: ModuleType) -> None:
    """`wilds`: registered data sets can be named and built."""
    specs = {
        name: spec
        for name, spec in get_registry().datasets.items()
        if spec.build is not None and name not in wilds.supported_datasets
    }
    wilds.supported_datasets.extend(specs)
    original = wilds.get_dataset

    @wraps(original)
    def get_dataset(dataset: str, version: Any = None, unlabeled: bool = False, **kwargs: Any) -> Any:
        if dataset not in specs or unlabeled:
            return original(dataset=dataset, version=version, unlabeled=unlabeled, **kwargs)
        build = specs[dataset].build
        assert build is not None
        return build(version=version, **kwargs)

    wilds.get_dataset = get_dataset  # type: ignore[attr-defined]


def hand_examples_to_transforms(module: ModuleType) -> None:
    """`wilds.datasets.wilds_dataset`: `get_subset` hands an Example to transforms that ask for one."""
    original = module.WILDSDataset.get_subset

    @wraps(original)
    def get_subset(self: Any, *arguments: Any, **keywords: Any) -> Any:
        from wilds_targeted.subset import hand_over_examples

        return hand_over_examples(original(self, *arguments, **keywords))

    module.WILDSDataset.get_subset = get_subset


def extend_supported(supported: ModuleType) -> None:
    """`configs.supported`: the names that the parser allows."""
    registry = get_registry()
    _wilds_own.update(models=frozenset(supported.models), algorithms=frozenset(supported.algorithms))
    _append_new(supported.transforms, registry.transforms)
    _append_new(supported.additional_transforms, [*registry.transforms, NO_ADDITIONAL_TRANSFORM])
    _append_new(supported.models, registry.models)
    supported.models = _ModelNames(supported.models)  # type: ignore[attr-defined]
    _append_new(supported.algorithms, registry.algorithms)


class _ModelNames(list[str]):
    """The models that the parser allows: the members of a family, too, which are too many to list."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in get_registry().models


def _append_new(names: list[str], more: Any) -> None:
    names.extend(name for name in more if name not in names)


def _registered(shelf: Shelf[Any], name: str, sort: str) -> Any:
    """The registered thing of that name, unless the name is WILDS's own."""
    return None if name in _wilds_own[sort] else shelf.get(name)


def extend_dataset_defaults(module: ModuleType) -> None:
    """`configs.datasets`: defaults of registered data sets, also by split scheme."""
    for name, spec in get_registry().datasets.items():
        if spec.build is not None and name not in module.dataset_defaults:
            module.dataset_defaults[name] = thaw(spec.defaults)
            module.split_defaults[name] = thaw(spec.split_defaults)


def extend_algorithm_defaults(module: ModuleType) -> None:
    """`configs.algorithm`: defaults of registered algorithms."""
    _add_defaults(module.algorithm_defaults, get_registry().algorithms)


def extend_model_defaults(module: ModuleType) -> None:
    """`configs.model`: defaults of registered models."""
    _add_defaults(module.model_defaults, get_registry().models)


def _add_defaults(defaults: dict[str, Any], shelf: Shelf[Any]) -> None:
    for name, spec in shelf.items():
        defaults.setdefault(name, thaw(spec.defaults))


def finalize_defaults(module: ModuleType) -> None:
    """`configs.utils`: our options are settled once WILDS has filled the defaults in, and plugins may object."""
    original = module.populate_defaults

    @wraps(original)
    def populate_defaults(config: Any) -> Any:
        given = copy.deepcopy(config)
        asked = get_registry().models.get(config.model or "")
        if asked is not None:
            module.model_defaults.setdefault(config.model, thaw(asked.defaults))  # members of families are not listed
        config = original(config)
        own = module.dataset_defaults[config.dataset]
        model = _registered(get_registry().models, config.model, "models")
        settle_model(config, given, own.get("model"), model)
        settle_optimizer_kwargs(config, given.optimizer_kwargs, own)
        if model is not None:
            from wilds_targeted.models.torchvision_models import refuse_unasked_download

            refuse_unasked_download(config, given.model_kwargs)
        finalize_config(config, get_registry())
        return config

    module.populate_defaults = populate_defaults  # type: ignore[attr-defined]


def extend_transforms(module: ModuleType) -> None:
    """`transforms`: registered transforms, in front of the base steps that WILDS makes."""
    original = module.initialize_transform

    @wraps(original)
    def initialize_transform(
        transform_name: str | None,
        config: Any,
        dataset: Any,
        is_training: bool,
        additional_transform_name: str | None = None,
    ) -> Any:
        from wilds_targeted.pipeline import build_evaluation, build_pipeline

        chosen = chosen_transforms(transform_name, additional_transform_name, get_registry())
        base_name = _default_transform(config.dataset) if transform_name in chosen else transform_name
        additional = None if additional_transform_name in chosen else additional_transform_name
        with _normalized_with(module, normalization_of(config, get_registry())):
            base = original(base_name, config, dataset, is_training, additional)
        if not chosen:
            return base
        if not is_training:
            return build_evaluation(chosen, dataset, base, config.transform_kwargs)
        return build_pipeline(chosen, dataset, base, config.transform_p, config.transform_kwargs)

    module.initialize_transform = initialize_transform  # type: ignore[attr-defined]


@contextmanager
def _normalized_with(module: ModuleType, wanted: Normalization) -> Iterator[None]:
    """Let WILDS's transforms normalize with what the model asks for, where that is not ImageNet's."""
    if wanted == IMAGENET:
        yield
        return
    names = ("_DEFAULT_IMAGE_TENSOR_NORMALIZATION_MEAN", "_DEFAULT_IMAGE_TENSOR_NORMALIZATION_STD")
    if not all(hasattr(module, name) for name in names):
        raise CheckoutError(
            f"this WILDS has no transforms.{names[0]}, in whose place the model's own normalization is put. Use the "
            f"commit that `wilds-targeted fetch-wilds` brings, or --runner builtin."
        )
    before = [getattr(module, name) for name in names]
    try:
        for name, values in zip(names, wanted, strict=True):
            setattr(module, name, list(values))
        yield
    finally:
        for name, values in zip(names, before, strict=True):
            setattr(module, name, values)


def _default_transform(dataset_name: str) -> Any:
    """The base steps of a data set: the transform that WILDS gives it by default."""
    return sys.modules["configs.datasets"].dataset_defaults[dataset_name]["transform"]


def extend_models(module: ModuleType) -> None:
    """`models.initializer`: registered models, whole or as featurizer and classifier."""
    original = module.initialize_model

    @wraps(original)
    def initialize_model(config: Any, d_out: int, is_featurizer: bool = False) -> Any:
        from wilds_targeted.models.assemble import assemble_model, make_it_fit

        spec = _registered(get_registry().models, config.model, "models")
        if spec is None:
            model = original(config, d_out, is_featurizer)
        else:
            model = assemble_model(spec, config, d_out, is_featurizer, partial(module.load, device=config.device))
        return make_it_fit(model, config)

    module.initialize_model = initialize_model  # type: ignore[attr-defined]


def extend_algorithms(module: ModuleType) -> None:
    """`algorithms.initializer`: registered algorithms, and ERM on mixed batches."""
    original = module.initialize_algorithm

    @wraps(original)
    def initialize_algorithm(config: Any, datasets: Any, train_grouper: Any, unlabeled_dataset: Any = None) -> Any:
        from wilds_targeted.mixing import mix_as_configured

        spec = _registered(get_registry().algorithms, config.algorithm, "algorithms")
        if spec is None:
            algorithm = original(config, datasets, train_grouper, unlabeled_dataset)
            return mix_as_configured(algorithm, config, datasets["train"]["dataset"].dataset)
        train = datasets["train"]
        d_out = module.infer_d_out(train["dataset"], config)
        steps_an_epoch = math.ceil(len(train["loader"]) / config.gradient_accumulation_steps)

        def build_model(is_featurizer: bool) -> Any:
            return sys.modules["models.initializer"].initialize_model(config, d_out, is_featurizer)

        return spec.build(
            AlgorithmInputs(
                config=config,
                d_out=d_out,
                grouper=train_grouper,
                loss=module.initialize_loss(config.loss_function, config),
                metric=module.algo_log_metrics[config.algo_log_metric],
                n_train_steps=steps_an_epoch * config.n_epochs,
                datasets=datasets,
                build_model=build_model,
                unlabeled_dataset=unlabeled_dataset,
            )
        )

    module.initialize_algorithm = initialize_algorithm  # type: ignore[attr-defined]


def extend_optimizer(module: ModuleType) -> None:
    """`optimizer`: parameter groups of models that ask for their own."""
    original = module.initialize_optimizer

    @wraps(original)
    def initialize_optimizer(config: Any, model: Any) -> Any:
        spec = _registered(get_registry().models, config.model, "models")
        if spec is None or spec.parameter_groups is None:
            return original(config, model)
        return module.initialize_optimizer_with_model_params(config, spec.parameter_groups(model, config))

    module.initialize_optimizer = initialize_optimizer  # type: ignore[attr-defined]
