"""``versions.json`` in a log folder: with what software a run was computed."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from pathlib import Path

from wilds_targeted import __version__
from wilds_targeted.errors import DataError
from wilds_targeted.files import written_whole

VERSIONS_FILE = "versions.json"
_PACKAGES = ("torch", "torchvision", "numpy", "wilds")


def installed_versions() -> dict[str, str]:
    """What results depend on, by name."""
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"wilds-targeted": __version__, **packages, "Python": platform.python_version()}


def note_versions(folder: Path, *, is_new: bool) -> None:
    """Write the installed versions; a run that goes on with others than before keeps both."""
    earlier = [] if is_new else read_versions(folder)
    now = installed_versions()
    if now not in earlier:
        with written_whole(folder / VERSIONS_FILE) as arriving:
            arriving.write_text(json.dumps([*earlier, now], indent=2) + "\n", encoding="utf-8")


def read_versions(folder: Path) -> list[dict[str, str]]:
    """The versions with which the run in that folder began, and others with which it went on; empty if nobody tells."""
    path = folder / VERSIONS_FILE
    if not path.is_file():
        return []
    try:
        return [{str(name): str(version) for name, version in entry.items()} for entry in json.loads(path.read_bytes())]
    except (AttributeError, TypeError, ValueError) as error:
        raise DataError(f"{path} is no list of versions by name ({error}); remove it to go on without") from error
