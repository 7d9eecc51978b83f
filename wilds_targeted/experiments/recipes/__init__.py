"""The rows of the paper's tables as protocols that can be run: data in TOML files, read once.

`load_recipes` has those of the paper; `get_recipe` also takes a file of one's own.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from wilds_targeted.errors import ConfigError, UnknownNameError, closest
from wilds_targeted.experiments.recipes.reading import parse_recipes
from wilds_targeted.experiments.recipes.recipe import Miniature, Published, Recipe, with_flags

__all__ = ["Miniature", "Published", "Recipe", "get_recipe", "load_recipes", "read_recipes", "with_flags"]

_FILES = ("iwildcam", "iwildcam_clip", "camelyon17", "camelyon17_clip", "birdcalls")


@functools.cache
def load_recipes() -> Mapping[str, Recipe]:
    """All recipes of the paper by name, data set by data set in the order of its tables."""
    recipes: dict[str, Recipe] = {}
    for name in _FILES:
        file = f"{name}.toml"
        text = resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
        recipes.update((recipe.name, recipe) for recipe in parse_recipes(text, file).values())
    return MappingProxyType(recipes)


def read_recipes(path: str | Path) -> Mapping[str, Recipe]:
    """The recipes of a file of one's own, by the name with which `get_recipe` finds them: ``FILE.toml:NAME``.

    A file without a miniature gets that of the first of the paper's recipes on the same data set, with its range of
    learning rates.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: a file with recipes can't be read: {error}.") from error
    own = parse_recipes(text, str(path))
    dataset = next(iter(own.values())).dataset
    like = next((recipe for recipe in load_recipes().values() if recipe.dataset == dataset), None)
    if like is not None:
        own = parse_recipes(text, str(path), default=like.miniature)
    return {f"{path}:{name}": replace(recipe, name=f"{path}:{name}") for name, recipe in own.items()}


def get_recipe(name: str) -> Recipe:
    """One recipe.

    Args:
        name: One of the paper's, such as ``iwildcam/copypaste_samey``; or a file of one's own, with the recipe's name
            after a colon where the file has several: ``mine.toml:paste_twice``.
    """
    path, colon, chosen = name.rpartition(".toml")
    if colon and (not chosen or chosen.startswith(":")):
        own = read_recipes(f"{path}.toml")
        if not chosen and len(own) == 1:
            return next(iter(own.values()))
        return _find(name, own)
    return _find(name, load_recipes())


def _find(name: str, recipes: Mapping[str, Recipe]) -> Recipe:
    if name not in recipes:
        raise UnknownNameError(
            f"there is no recipe {name!r}{closest(name, recipes)}. `wilds-targeted recipes` lists those of the paper; "
            f"a file of your own is taken, too (FILE.toml, or FILE.toml:NAME)."
        )
    return recipes[name]
