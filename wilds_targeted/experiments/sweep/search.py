"""A search: draws of a search space times seeds, kept in a ledger."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wilds_targeted.experiments.recipes import Recipe
from wilds_targeted.experiments.space import with_draw
from wilds_targeted.experiments.sweep.choice import DrawScores
from wilds_targeted.experiments.sweep.driver import Outcome
from wilds_targeted.experiments.sweep.ledger import Ledger
from wilds_targeted.experiments.sweep.records import TUNING, Record
from wilds_targeted.experiments.sweep.stage import Stage
from wilds_targeted.experiments.sweep.unit import Result, Unit

LEDGER_FILE = "ledger.sqlite3"


@dataclass(frozen=True)
class Search:
    """The runs of a search.

    Args:
        recipe: What is trained.
        n_draws: How many draws; with nothing to search there is one, and it is empty.
        seeds: With which each draw is trained.
        draw_seed: Of the stream of draws.
    """

    recipe: Recipe
    n_draws: int
    seeds: tuple[int, ...]
    draw_seed: int = 0

    @cached_property
    def draws(self) -> list[dict[str, Any]]:
        """What is drawn."""
        return self.recipe.search.draws(self.n_draws, self.draw_seed) if self.recipe.search.free else [{}]

    def units_of(self, draw: int, seeds: Sequence[int] | None = None) -> list[Unit]:
        """The runs of a draw; one that comes twice has the same ones."""
        values = self.draws[draw]
        label = f"draw{self.draws.index(values):02d}" if values else "run"
        return units_of(self.recipe, label, values, self.seeds if seeds is None else seeds)

    @cached_property
    def units(self) -> list[Unit]:
        """All of them, each once, draw by draw."""
        return list(dict.fromkeys(unit for draw in range(len(self.draws)) for unit in self.units_of(draw)))

    @property
    def settings(self) -> dict[str, Any]:
        """What decides about its numbers, without what may grow later: the number of draws, and the seeds."""
        recipe = self.recipe
        return {
            "recipe": method_of(recipe),
            "flags": shlex.join(recipe.flags),
            "search": {name: str(each) for name, each in {**recipe.search.free, **recipe.search.tied}.items()},
            "draw_seed": self.draw_seed,
            "metric": recipe.metric,
            "in_domain": recipe.in_domain,
            "out_of_domain": recipe.out_of_domain,
        }


def units_of(recipe: Recipe, label: str, values: Mapping[str, Any], seeds: Sequence[int]) -> list[Unit]:
    """A recipe's runs with these values in its flags."""
    flags = with_draw(recipe.flags, values)
    return [Unit(method_of(recipe), label, flags, seed) for seed in seeds]


def method_of(recipe: Recipe) -> str:
    """The recipe's name, without the folder of a file of one's own: it is the same from wherever it is read."""
    return recipe.name.rpartition("/")[2] if ".toml:" in recipe.name else recipe.name


def tune(stage: Stage, search: Search, later: int = 0, again: bool = True) -> dict[Unit, Outcome]:
    """Do all runs of a search, and keep the ledger.

    Args:
        stage: The folder.
        search: The runs.
        later: How many units come after these.
        again: Whether those that failed in an earlier call are tried again.
    """
    ledger = _open_ledger(stage, search)
    ledger.enqueue(search.draws)
    outcomes: dict[Unit, Outcome] = {}
    draws_of: dict[Unit, list[int]] = {}
    for number in range(len(search.draws)):
        for unit in search.units_of(number):
            draws_of.setdefault(unit, []).append(number)

    def begun(unit: Unit) -> None:
        for number in draws_of[unit]:
            ledger.begin(number)

    def ended(unit: Unit, outcome: Outcome) -> None:
        outcomes[unit] = outcome
        for number in draws_of[unit]:
            if all(each in outcomes for each in search.units_of(number)):
                scores = scores_of(search, number, outcomes)
                if scores.is_complete:
                    ledger.complete(number, scores.val)
                else:
                    ledger.fail(number)

    return stage.carry_out(TUNING, search.units, later=later, begun=begun, ended=ended, again=again)


def all_scores(search: Search, outcomes: Mapping[Unit, Outcome]) -> list[DrawScores]:
    """What became of each draw."""
    return [scores_of(search, number, outcomes) for number in range(len(search.draws))]


def scores_of(search: Search, draw: int, outcomes: Mapping[Unit, Outcome]) -> DrawScores:
    """What became of a draw whose runs have ended."""
    units = search.units_of(draw)
    results = {unit.seed: each for unit in units if isinstance(each := outcomes[unit], Result)}
    failed = tuple(unit.seed for unit in units if unit.seed not in results)
    return DrawScores(draw, search.draws[draw], results, failed)


def records_of(search: Search, outcomes: Mapping[Unit, Outcome]) -> list[Record]:
    """The lines of the table of results for a search."""
    return [
        Record(TUNING, number if values else None, values, unit, outcomes[unit])
        for number, values in enumerate(search.draws)
        for unit in search.units_of(number)
    ]


def _open_ledger(stage: Stage, search: Search) -> Ledger:
    folder, storage = stage.folder.absolute(), stage.conduct.storage
    if storage is None:
        return Ledger(f"sqlite:///{folder / LEDGER_FILE}", study_name(search), search.recipe.search)
    return Ledger(storage, study_name(search, folder), search.recipe.search)


def study_name(search: Search, folder: Path | None = None) -> str:
    """The name of its study: another search has another, and so has one with other seeds, whose means are others.

    Args:
        search: Whose.
        folder: The sweep's, where other sweeps may be in the same storage: each study has one driver.
    """
    settings = json.dumps([search.settings, search.seeds, *([] if folder is None else [str(folder)])], sort_keys=True)
    return f"{method_of(search.recipe)} {hashlib.sha256(settings.encode()).hexdigest()[:10]}"
