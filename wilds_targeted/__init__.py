"""Targeted augmentations, one flag away in the WILDS benchmark.

Torch imports this module at the end of ``import torch`` (entry-point group ``torch.backends``), in every program of the
environment, and turns an exception into a failing ``import torch``. So it imports the standard library alone, and what
it offers is imported on first use.
"""

import sys
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from wilds_targeted.api import build_batch_transform, build_transform, get_dataset, get_subset
    from wilds_targeted.augmentation import Augmentation, BatchAugmentation, Mixed
    from wilds_targeted.errors import WildsTargetedError
    from wilds_targeted.example import Batch, Example
    from wilds_targeted.hookspecs import hookimpl
    from wilds_targeted.specs import (
        AlgorithmInputs,
        AlgorithmSpec,
        DatasetSpec,
        Kind,
        Level,
        ModelSpec,
        OptionSpec,
        Parameter,
        TransformSpec,
    )

_HOME_OF = {
    "build_batch_transform": "api",
    "build_transform": "api",
    "get_dataset": "api",
    "get_subset": "api",
    "Augmentation": "augmentation",
    "BatchAugmentation": "augmentation",
    "Mixed": "augmentation",
    "WildsTargetedError": "errors",
    "Batch": "example",
    "Example": "example",
    "hookimpl": "hookspecs",
    "AlgorithmInputs": "specs",
    "AlgorithmSpec": "specs",
    "DatasetSpec": "specs",
    "Kind": "specs",
    "Level": "specs",
    "ModelSpec": "specs",
    "OptionSpec": "specs",
    "Parameter": "specs",
    "TransformSpec": "specs",
}

__all__ = [
    "AlgorithmInputs",
    "AlgorithmSpec",
    "Augmentation",
    "Batch",
    "BatchAugmentation",
    "DatasetSpec",
    "Example",
    "Kind",
    "Level",
    "Mixed",
    "ModelSpec",
    "OptionSpec",
    "Parameter",
    "TransformSpec",
    "WildsTargetedError",
    "__version__",
    "build_batch_transform",
    "build_transform",
    "get_dataset",
    "get_subset",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use (PEP 562)."""
    try:
        home = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _autoload() -> None:
    """What torch calls: install the bridge if the program is a script of WILDS's, and never raise."""
    try:
        script = (getattr(sys, "argv", None) or [""])[0]
        if script.endswith(("run_expt.py", "evaluate.py")):
            from wilds_targeted.bridge.autoload import autoload

            autoload(script)
    except Exception as error:
        _report_inactive(error)


_told: list[BaseException] = []


def _report_inactive(error: BaseException) -> None:
    """Say in one line, once in a process, that the bridge is not at work, and what to do."""
    if _told:
        return
    _told.append(error)
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    try:
        print(
            f"wilds-targeted: not active in this run ({reason}). To look into it run `wilds-targeted run` with the "
            f"same flags; to mend it, `pip install --force-reinstall wilds-targeted`.",
            file=sys.stderr,
        )
    except Exception:  # no standard error to write to: even that must not stop `import torch`
        return
