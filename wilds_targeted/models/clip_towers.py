"""The image towers that open_clip knows, from its configuration files: to import open_clip itself takes seconds."""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wilds_targeted.errors import ConfigError, UnknownNameError, closest, one_line

_OWN = Path(__file__).with_name("towers") / "miniature.json"


@dataclass(frozen=True)
class Tower:
    """One image tower.

    Args:
        title: What the user calls it.
        architecture: What open_clip calls it; the weights that open_clip downloads go by this name.
        embed_dim: The length of the projected features.
        vision: Open_clip's description of the tower.
        quick_gelu: Whether its activation is OpenAI's quick GELU, unless the weights say otherwise.
    """

    title: str
    architecture: str
    embed_dim: int
    vision: Mapping[str, Any]
    quick_gelu: bool

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width of the images that it was made for."""
        size = self.vision.get("image_size", 224)
        height, width = (size, size) if isinstance(size, int) else size
        return int(height), int(width)


def tower_names() -> list[str]:
    """All that open_clip has, by its names."""
    return sorted(_configs())


def find_tower(name: str, title: str) -> Tower:
    """A tower by open_clip's name or by the path of a file in open_clip's form; or our own, for miniatures.

    Args:
        name: Such as ``ViT-B-32`` or ``my/tower.json``; ``miniature`` is the small one.
        title: What the user calls it.
    """
    path = Path(name) if name.endswith(".json") else {**_configs(), _OWN.stem: _OWN}.get(name)
    if path is None:
        raise UnknownNameError(
            f"there is no model {title!r}: open_clip has no {name!r}{closest(name, tower_names())}. `python -c 'import "
            f"open_clip; print(open_clip.list_models())'` lists what it has; the path of a .json file in open_clip's "
            f"form is taken, too."
        )
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        tower = Tower(
            title=title,
            architecture=path.stem,
            embed_dim=int(described["embed_dim"]),
            vision=dict(described["vision_cfg"]),
            quick_gelu=bool(described.get("quick_gelu", False)),
        )
        tower.image_size  # noqa: B018  (it may be no size)
    except FileNotFoundError:
        raise ConfigError(f"model {title!r}: there is no file {path}.") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"model {title!r}: {path} does not describe a model in open_clip's form, with embed_dim and vision_cfg "
            f"({type(error).__name__}: {one_line(error)})."
        ) from error
    return tower


@functools.cache
def _configs() -> dict[str, Path]:
    """Open_clip's configuration files, by name."""
    found = importlib.util.find_spec("open_clip")
    if found is None or found.origin is None:
        raise ConfigError("CLIP models need open_clip: `pip install open_clip_torch`.")
    return {path.stem: path for path in (Path(found.origin).parent / "model_configs").glob("*.json")}
