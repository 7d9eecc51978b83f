"""Decides whether the running program is a script of a WILDS checkout."""

from __future__ import annotations

from pathlib import Path

SCRIPTS = ("run_expt.py", "evaluate.py")
_LANDMARKS = (
    "transforms.py",
    "optimizer.py",
    "configs/supported.py",
    "algorithms/initializer.py",
    "models/initializer.py",
)


def autoload(script: str) -> None:
    """Install the bridge if that is a script of a WILDS checkout.

    Args:
        script: The program that runs, ``sys.argv[0]``.
    """
    path = Path(script)
    if path.name in SCRIPTS and is_examples_folder(path.absolute().parent):
        from wilds_targeted.bridge.install import install

        install(path.absolute().parent)


def is_examples_folder(folder: Path) -> bool:
    """Whether that is the folder ``examples`` of a WILDS checkout, by the modules that the bridge touches."""
    return all((folder / landmark).is_file() for landmark in _LANDMARKS)
