"""Put the hooks of `wilds_targeted.bridge.hooks` on WILDS's modules, before WILDS imports them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from wilds_targeted import _report_inactive
from wilds_targeted.bridge.imports import HookingFinder, ImportHook
from wilds_targeted.bridge.parser import extend_parser_on_first_use
from wilds_targeted.errors import WildsTargetedError, one_line

_HOOKS = "wilds_targeted.bridge.hooks"
_MENDS = "wilds_targeted.mends"
_AFTER_WILDS = {
    "wilds": "extend_wilds",
    "wilds.datasets.wilds_dataset": "hand_examples_to_transforms",
}
_AFTER_SCRIPTS = {
    "configs.supported": "extend_supported",
    "configs.datasets": "extend_dataset_defaults",
    "configs.algorithm": "extend_algorithm_defaults",
    "configs.model": "extend_model_defaults",
    "configs.utils": "finalize_defaults",
    "transforms": "extend_transforms",
    "models.initializer": "extend_models",
    "algorithms.initializer": "extend_algorithms",
    "optimizer": "extend_optimizer",
}


def install(examples: Path) -> None:
    """Hook WILDS's modules: those of the package wherever it is, those of the scripts in that folder only.

    Installing twice is as good as once: `wilds-targeted run` installs by itself, and torch may call again.
    """
    if any(isinstance(finder, HookingFinder) for finder in sys.meta_path):
        return
    hooks = {name: ImportHook(after=_call(_HOOKS, function)) for name, function in _AFTER_WILDS.items()}
    for name, function in _AFTER_SCRIPTS.items():
        hooks[name] = ImportHook(after=_call(_HOOKS, function), folder=examples)
    hooks["optimizer"] = replace(hooks["optimizer"], before=_call(_MENDS, "mend_transformers"))
    hooks["wilds.common.utils"] = ImportHook(after=_call(_MENDS, "mend_utils"))
    sys.meta_path.insert(0, HookingFinder(hooks))
    extend_parser_on_first_use()
    _end_with_one_line()


def _end_with_one_line() -> None:
    """Let an error of ours end the script with one line; a traceback would bury it."""
    original = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        own = _find_own(error)
        if own is not None:
            print(f"wilds-targeted: error: {one_line(own)}", file=sys.stderr)
        else:
            original(kind, error, trace)

    sys.excepthook = excepthook


def _find_own(error: BaseException | None) -> WildsTargetedError | None:
    """This error or that in whose handling it arose: where weights are refused, WILDS renames and fails."""
    while error is not None and not isinstance(error, WildsTargetedError):
        error = error.__context__
    return error


_broken: set[str] = set()
"""Modules of ours that failed: their hooks keep their hands off from then on, instead of failing at every import."""


def _call(module: str, function: str) -> Callable[..., None]:
    """That function, imported when it is needed: it brings much more than torch may wait for."""

    def call(*arguments: Any) -> None:
        if module in _broken:
            return
        try:
            getattr(importlib.import_module(module), function)(*arguments)
        except WildsTargetedError:
            raise  # a conflict that the user must settle; `_end_with_one_line` tells it
        except Exception as error:
            _broken.add(module)
            _report_inactive(error)

    return call
