"""A sweep: all runs of a search, and the draw that is best on validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wilds_targeted.experiments.recipes import Recipe
from wilds_targeted.experiments.sweep.choice import DrawScores, choose
from wilds_targeted.experiments.sweep.records import begin_run_list, write_results, write_run_list
from wilds_targeted.experiments.sweep.search import Search, all_scores, records_of, tune
from wilds_targeted.experiments.sweep.stage import Conduct, opened
from wilds_targeted.experiments.sweep.unit import Failure


@dataclass(frozen=True)
class SweepOutcome:
    """What came out of a sweep.

    Args:
        search: The runs.
        draws: What became of each draw.
        chosen: The draw with the best mean on validation; None where none has all of its runs.
        failures: The runs that failed for good, by name.
    """

    search: Search
    draws: tuple[DrawScores, ...]
    chosen: DrawScores | None
    failures: dict[str, Failure]


def search_of(
    recipe: Recipe, n_draws: int | None = None, seeds: Sequence[int] | None = None, draw_seed: int = 0
) -> Search:
    """The recipe's own search, or with other numbers of draws and seeds.

    Where nothing is searched, it is the runs with the recipe's final seeds.
    """
    own = recipe.tuning_seeds if recipe.search.free else recipe.final_seeds
    return Search(recipe, recipe.n_draws if n_draws is None else n_draws, tuple(seeds or own), draw_seed)


def run_sweep(search: Search, folder: str | Path, conduct: Conduct) -> SweepOutcome:
    """Do all runs of a search that are not done, and say which draw is best.

    The folder gets the runs (``units/``), the ledger, ``results.csv``, and ``runs.json`` with the best draw's runs.
    Called again it goes on where it was, also with more draws or seeds; what failed is tried again.

    Args:
        search: The runs.
        folder: Takes everything.
        conduct: How they are run.
    """
    folder = Path(folder)
    recipe = search.recipe
    with opened(folder, {"kind": "sweep", **search.settings}, recipe, conduct) as stage:
        begin_run_list(folder, recipe)
        outcomes = tune(stage, search)
        draws = all_scores(search, outcomes)
        write_results(folder, recipe, records_of(search, outcomes))
        chosen = choose(draws, conduct.accept_incomplete)
        if chosen is not None:
            write_run_list(folder, recipe, {unit: outcomes[unit] for unit in search.units_of(chosen.number)})
    failures = {unit.key: outcome for unit, outcome in outcomes.items() if isinstance(outcome, Failure)}
    return SweepOutcome(search, tuple(draws), chosen, failures)
