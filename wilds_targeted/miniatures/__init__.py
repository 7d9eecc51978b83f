"""Generated data sets in WILDS's on-disk formats: small enough for a laptop, read by WILDS's own classes."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from wilds_targeted.errors import DataError
from wilds_targeted.miniatures._writing import MARK

MINIATURES = ("iwildcam", "camelyon17", "birdcalls")
"""The data sets of which there is one: each has a module here with a function ``write_NAME``."""


def write_miniature(name: str, root_dir: str | Path, **options: Any) -> Path:
    """Write the miniature of that data set; what can be chosen about it is told by its own function.

    Returns:
        The data set's folder.
    """
    if name not in MINIATURES:
        raise DataError(f"there is no miniature of {name!r}; there is one of {', '.join(MINIATURES)}.")
    module = importlib.import_module(f"{__name__}.{name}")
    folder: Path = getattr(module, f"write_{name}")(root_dir, **options)
    return folder


def is_miniature(data_dir: str | Path) -> bool:
    """Whether a data set's folder holds a miniature, by the mark in its release file."""
    return any(
        file.read_text(encoding="utf-8", errors="replace").startswith(MARK)
        for file in Path(data_dir).glob("RELEASE_v*.txt")
    )
