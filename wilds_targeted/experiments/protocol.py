"""The paper's protocol for a row of its tables: which runs, in which order."""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wilds_targeted.errors import ConfigError, UnknownNameError
from wilds_targeted.experiments.plan import DATA_FOLDER
from wilds_targeted.experiments.recipes import Recipe, get_recipe, load_recipes
from wilds_targeted.experiments.sweep.search import Search, method_of, units_of
from wilds_targeted.experiments.sweep.unit import Unit


@dataclass(frozen=True)
class Protocol:
    """What is to be run of a recipe.

    Args:
        recipe: What is trained.
        search: The tuning runs; None where nothing is tuned here.
        values: What the final runs are trained with where nothing is tuned: the authors' values, or nothing.
        final_seeds: Of the final runs.
        miniature: What follows ``wilds-targeted`` to write the generated data; empty for real data.
    """

    recipe: Recipe
    search: Search | None
    values: Mapping[str, Any]
    final_seeds: tuple[int, ...]
    miniature: tuple[str, ...]

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        *,
        tuned: bool = False,
        miniature: bool = False,
        n_draws: int | None = None,
        draw_seed: int = 0,
        seeds: Sequence[int] | None = None,
    ) -> Protocol:
        """The paper's protocol for that recipe.

        Args:
            recipe: Which row.
            tuned: Take the values that the authors published, and tune nothing.
            miniature: On generated data, with small budgets.
            n_draws: Another number of tuning draws.
            draw_seed: Of the stream of draws.
            seeds: Other final seeds.
        """
        words: tuple[str, ...] = ()
        if miniature:
            if tuned:
                raise ConfigError("--tuned has the authors' values for the real data: leave it or --miniature out.")
            words = ("miniature", recipe.dataset, "--root_dir", DATA_FOLDER, "--seed", "0", *recipe.miniature.options)
            recipe = recipe.on_miniature()
        if tuned and recipe.search.free and not recipe.tuned:
            raise ConfigError(f"the authors published no values for {recipe.name}: leave out --tuned.")
        search = None
        if recipe.search.free and not tuned:
            number = recipe.n_draws if n_draws is None else n_draws
            search = Search(recipe, number, recipe.tuning_seeds, draw_seed)
        return cls(recipe, search, recipe.tuned if tuned else {}, tuple(seeds or recipe.final_seeds), words)

    @property
    def settings(self) -> dict[str, Any]:
        """What decides about its numbers, without what may grow later."""
        search = self.search or Search(self.recipe, 0, ())
        values = dict(self.values) if self.search is None else None
        return {
            "kind": "reproduction",
            **search.settings,
            "values": values,
            "miniature": shlex.join(self.miniature),
        }

    @property
    def tuning_units(self) -> list[Unit]:
        """The runs before the choice."""
        return [] if self.search is None else self.search.units

    @property
    def later(self) -> int:
        """How many runs come after the choice; of the chosen draw the tuning runs are final runs, too."""
        tuned_with = () if self.search is None else self.search.seeds
        return len(set(self.final_seeds) - set(tuned_with))

    def final_units(self, chosen: int | None) -> list[Unit]:
        """The final runs, with that draw where something is tuned."""
        if self.search is not None and chosen is not None:
            return self.search.units_of(chosen, self.final_seeds)
        return units_of(self.recipe, "tuned" if self.values else "run", self.values, self.final_seeds)

    def folder(self, out: Path) -> Path:
        """Where all of this goes."""
        return out / method_of(self.recipe).replace(".toml:", "/")


def find_recipes(names: Sequence[str]) -> list[Recipe]:
    """The recipes of these names; a name may have the wildcards of a shell."""
    found: dict[str, Recipe] = {}
    for name in names:
        if re.search(r"[*?\[]", name):
            matching = fnmatch.filter(load_recipes(), name)
            if not matching:
                raise UnknownNameError(f"no recipe matches {name!r}; `wilds-targeted recipes` lists them.")
            found.update((each, get_recipe(each)) for each in matching)
        else:
            found[name] = get_recipe(name)
    return list(found.values())
