"""Every extension point. A plugin implements the ones it wants, marked with `wilds_targeted.hookimpl`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from wilds_targeted.specs import AlgorithmSpec, DatasetSpec, ModelSpec, OptionSpec, TransformSpec

PROJECT = "wilds_targeted"
"""The name of the entry-point group, and pluggy's name for the project."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def register_datasets() -> Sequence[DatasetSpec]:  # type: ignore[empty-body]
    """Data sets for ``--dataset``."""


@hookspec
def register_transforms() -> Sequence[TransformSpec]:  # type: ignore[empty-body]
    """Augmentations for ``--transform`` and ``--additional_train_transform``."""


@hookspec
def register_models() -> Sequence[ModelSpec]:  # type: ignore[empty-body]
    """Models for ``--model``."""


@hookspec
def register_algorithms() -> Sequence[AlgorithmSpec]:  # type: ignore[empty-body]
    """Training algorithms for ``--algorithm``."""


@hookspec
def register_options() -> Sequence[OptionSpec]:  # type: ignore[empty-body]
    """Command-line options for ``run_expt.py`` and ``wilds-targeted run``."""


@hookspec
def check_config(config: Any) -> None:
    """Look at the final configuration, all defaults filled in; raise `WildsTargetedError` where it makes no sense."""
