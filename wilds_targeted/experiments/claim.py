"""A folder belongs to the settings that it was begun with."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wilds_targeted.errors import ConfigError, DataError
from wilds_targeted.files import is_leftover, written_whole

SETTINGS_FILE = "settings.json"


def claim(folder: Path, settings: Mapping[str, Any], maker: str) -> None:
    """Take the folder for these settings; refuse one that holds results of others, or anything else.

    Args:
        folder: Need not exist.
        settings: All that decides about the results, as plain data.
        maker: What writes into the folder, for messages.
    """
    mine = json.loads(json.dumps(settings))
    path = folder / SETTINGS_FILE
    if path.exists():
        theirs = _read_settings(path, maker)
        other = [key for key in mine if theirs.get(key) != mine[key]]
        if other:
            key = other[0]
            raise ConfigError(
                f"{folder} was begun with other settings ({key} {_brief(theirs.get(key))} there, {_brief(mine[key])} "
                f"now): choose another folder with --out, or begin anew with `rm -r {shlex.quote(str(folder))}`."
            )
        return
    if folder.exists() and (not folder.is_dir() or not all(map(is_leftover, folder.iterdir()))):
        raise ConfigError(f"{folder} is there and was not made by {maker}: choose another folder with --out.")
    with written_whole(path) as arriving:
        arriving.write_text(json.dumps(mine, indent=2) + "\n", encoding="utf-8")


def _read_settings(path: Path, maker: str) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(settings, dict):
            raise ValueError("no settings")
    except ValueError as error:
        raise DataError(f"{path} is not {maker}'s own: choose another folder with --out.") from error
    return settings


def _brief(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | dict) else str(value)
