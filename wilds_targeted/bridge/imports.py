"""Run a function before or after a module is executed, without touching the module's file."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class ImportHook:
    """What to do around the execution of one module.

    Args:
        after: Called with the module when it has been executed.
        before: Called before it is executed.
        folder: Only if the module's file lies in this folder; None for wherever it is.
    """

    after: Callable[[ModuleType], None] | None = None
    before: Callable[[], None] | None = None
    folder: Path | None = None


class HookingFinder:
    """A finder for `sys.meta_path` that finds nothing itself, and hooks what the others find."""

    def __init__(self, hooks: Mapping[str, ImportHook]) -> None:
        self._hooks = dict(hooks)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that another finder gives, its loader prepared to call the hook."""
        hook = self._hooks.get(name)
        if hook is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and _lies_in(spec.origin, hook.folder):
                    _prepare(spec.loader, hook)
                return spec
        return None


def _lies_in(origin: str | None, folder: Path | None) -> bool:
    if folder is None:
        return True
    return origin is not None and Path(origin).resolve().is_relative_to(folder.resolve())


def _prepare(loader: Any, hook: ImportHook) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        if hook.before is not None:
            hook.before()
        execute(module)
        if hook.after is not None:
            hook.after(module)

    # On the instance: each import of a source file has a loader of its own, so nothing else sees this.
    loader.exec_module = exec_module
