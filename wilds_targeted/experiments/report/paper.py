"""Which row of the paper's tables a run repeats, and whether its numbers may stand beside the printed ones."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from wilds_targeted.choice import NO_ADDITIONAL_TRANSFORM, WILDS_TRANSFORMS
from wilds_targeted.errors import UnknownNameError
from wilds_targeted.experiments.recipes import Recipe, get_recipe, load_recipes
from wilds_targeted.experiments.runs import RunFolder
from wilds_targeted.experiments.space import flag_values

_IDENTITY = ("algorithm", "transform", "additional_train_transform", "split_scheme")
"""What tells methods apart."""

_SCALE = ("model", "target_resolution", "frac", "split_scheme")
"""What makes numbers incomparable."""

_UNSET = (None, "None", NO_ADDITIONAL_TRANSFORM)


def find_recipe(run: RunFolder) -> Recipe | None:
    """The recipe that a run was made from, as its list says; else the only one of the same method.

    Where several have it, as those of two models do, the one with the run's model; for another model the paper's first.
    """
    if run.listed is not None:
        if run.listed.recipe is None:
            return None
        try:
            return get_recipe(run.listed.recipe)
        except UnknownNameError:
            return None
    candidates = [recipe for recipe in load_recipes().values() if recipe.dataset == run.dataset]
    candidates = [recipe for recipe in candidates if not set(_IDENTITY).intersection(differences(run, recipe))]
    same_model = [recipe for recipe in candidates if "model" not in differences(run, recipe)]
    chosen = same_model or candidates[:1]
    return chosen[0] if len(chosen) == 1 else None


def differences(run: RunFolder, recipe: Recipe) -> dict[str, tuple[str, str]]:
    """By flag what the run has and what the recipe asks for, where they differ; what is searched may have any value."""
    asked = {flag.lstrip("-"): words for flag, words in flag_values(recipe.flags).items()}
    found = {}
    for name in dict.fromkeys((*_IDENTITY, *asked)):
        value = run.config.get(name, "None")
        if name in recipe.search.free:
            distribution = recipe.search.free[name]
            fits = distribution.kind != "choice" or value in map(str, distribution.values)
        elif name in asked:
            fits = _says(value, asked[name], {key.partition(".")[2] for key in recipe.search.free if "." in key})
        elif name == "transform":
            fits = value in (*WILDS_TRANSFORMS, "None")
        else:
            fits = value in (*_UNSET, "official")
        if not fits and name not in recipe.search.tied:
            found[name] = (value, " ".join(asked.get(name, ("none",))))
    return found


def why_not_comparable(run: RunFolder, recipe: Recipe) -> str | None:
    """Why the paper's numbers don't belong beside a run's; None if they do."""
    found = differences(run, recipe)
    for name in _SCALE:
        if name in found:
            return f"--{name} {found[name][0]}, where the paper has {found[name][1]}"
    if run.config.get("frac", "1.0") not in ("1.0", "1"):
        return f"--frac {run.config['frac']}, a part of the data"
    for split in (recipe.out_of_domain, recipe.in_domain):
        path, expected = run.predictions(split), recipe.images.get(split)
        if expected and path.is_file():
            with path.open("rb") as file:
                lines = sum(1 for _ in file)
            if lines != expected:
                return f"{lines:,} predictions on {split}, where the paper's data set has {expected:,} examples"
    return None


def _says(value: str, words: tuple[str, ...], searched: set[str]) -> bool:
    """Whether a logged value is what the words of a flag ask for."""
    literal = _literal(value)
    if isinstance(literal, Mapping):
        asked = dict(word.split("=", 1) for word in words if "=" in word)
        return all(key in searched or _same(str(literal.get(key)), each) for key, each in asked.items())
    if isinstance(literal, list | tuple):
        return len(literal) == len(words) and all(map(_same, map(str, literal), words))
    if not words:
        return value == "True"
    return value in _UNSET if words[0] in _UNSET else len(words) == 1 and _same(value, words[0])


def _literal(value: str) -> Any:
    try:
        return ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return value


def _same(one: str, other: str) -> bool:
    """Equal as numbers, or as words whatever their case."""
    try:
        return float(one) == float(other)
    except ValueError:
        return one.lower() == other.lower()
