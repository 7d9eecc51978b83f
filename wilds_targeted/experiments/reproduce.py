"""A row of the paper, repeated: tuning draws, the choice on validation, the final seeds."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from wilds_targeted.errors import DataError, RunError
from wilds_targeted.experiments.claim import claim
from wilds_targeted.experiments.generated import write_data
from wilds_targeted.experiments.plan import DATA_FOLDER
from wilds_targeted.experiments.processes import Command, own_command
from wilds_targeted.experiments.progress import tell
from wilds_targeted.experiments.protocol import Protocol
from wilds_targeted.experiments.results import Estimate
from wilds_targeted.experiments.runs import read_run
from wilds_targeted.experiments.sweep.choice import DrawScores, choose
from wilds_targeted.experiments.sweep.driver import Outcome
from wilds_targeted.experiments.sweep.records import (
    FINAL,
    Record,
    aligned,
    begin_run_list,
    write_results,
    write_run_list,
)
from wilds_targeted.experiments.sweep.search import Search, all_scores, records_of, tune
from wilds_targeted.experiments.sweep.stage import Conduct, Stage, opened
from wilds_targeted.experiments.sweep.unit import Failure, Result, Unit, read_json, write_json
from wilds_targeted.experiments.sweep.work import score
from wilds_targeted.files import locked

CHOICE_FILE = "choice.json"


@dataclass(frozen=True)
class Reproduction:
    """What came out.

    Args:
        protocol: What was run.
        folder: Where it is.
        draws: What became of each draw.
        chosen: The draw that was chosen; None where nothing was tuned.
        final: How the final runs ended.
    """

    protocol: Protocol
    folder: Path
    draws: tuple[DrawScores, ...]
    chosen: int | None
    final: Mapping[Unit, Outcome]

    @property
    def failures(self) -> dict[str, Failure]:
        """The final runs that failed for good, by name."""
        return {unit.key: outcome for unit, outcome in self.final.items() if isinstance(outcome, Failure)}

    @cached_property
    def estimates(self) -> dict[tuple[str, str], Estimate]:
        """Mean and standard error over the final runs that ended well, by split and metric."""
        recipe = self.protocol.recipe
        cells = {(split, recipe.metric): None for split in (recipe.in_domain, recipe.out_of_domain)}
        cells |= {(cell.split, cell.metric): None for cell in recipe.published}
        runs = [read_run(self.folder / unit.place) for unit, each in self.final.items() if isinstance(each, Result)]
        if not runs:
            raise RunError(f"{recipe.name}: no final run ended well; `wilds-targeted sweep status {self.folder}`")
        return {
            (split, metric): Estimate.of([score(run, split, run.best_epoch(), metric) for run in runs])
            for split, metric in cells
        }

    def __str__(self) -> str:
        """The row: ours beside the published."""
        recipe = self.protocol.recipe
        published = {(cell.split, cell.metric): f"{cell.mean:.1f} ({cell.error:.1f})" for cell in recipe.published}
        lines = [["split", "metric", "ours", *(["published"] if published else [])]]
        for cell, estimate in self.estimates.items():
            lines.append([*cell, str(estimate), *([published.get(cell, "")] if published else [])])
        done, planned = len(self.final) - len(self.failures), len(self.final)
        number = f"{planned}" if done == planned else f"{done} OF {planned}"
        title = f"{recipe.title} ({recipe.name}), per cent, mean over {number} seeds (standard error)"
        return f"{title}\n{aligned(lines)}"


def reproduce(protocol: Protocol, out: str | Path, conduct: Conduct, command: Command = own_command) -> Reproduction:
    """Run the protocol; called again it goes on where it was.

    The folder of the recipe in `out` gets the runs (``units/``), the ledger, ``choice.json``, ``results.csv``, and
    ``runs.json`` with the final runs. Once the choice is made it stands: what failed while tuning is not tried again.

    Args:
        protocol: What is run.
        out: Takes a folder for each recipe, and ``data/`` for generated data.
        conduct: How it is run; its `root_dir` does not count for generated data.
        command: From what follows ``wilds-targeted`` to the command that writes the generated data.
    """
    out = Path(out)
    if protocol.miniature:
        _generate(out, protocol, command)
        conduct = replace(conduct, root_dir=out / DATA_FOLDER)
    folder, recipe, search = protocol.folder(out), protocol.recipe, protocol.search
    with opened(folder, protocol.settings, recipe, conduct) as stage:
        records: list[Record] = []
        draws: list[DrawScores] = []
        chosen = None
        begin_run_list(folder, recipe)
        if search is not None:
            chosen = chosen_before(folder, search)
            outcomes = tune(stage, search, protocol.later, again=chosen is None)
            draws, records = all_scores(search, outcomes), records_of(search, outcomes)
            if chosen is None:
                chosen = _choose(stage, search, draws)
        units = protocol.final_units(chosen)
        final = _finish(stage, units)
        values = protocol.values if search is None or chosen is None else search.draws[chosen]
        records += [Record(FINAL, chosen, values, unit, outcome) for unit, outcome in final.items()]
        write_results(folder, recipe, records)
    return Reproduction(protocol, folder, tuple(draws), chosen, final)


def _finish(stage: Stage, units: Sequence[Unit]) -> dict[Unit, Outcome]:
    """The final runs; each that ends is listed at once."""
    so_far: dict[Unit, Outcome] = {}

    def ended(unit: Unit, outcome: Outcome) -> None:
        so_far[unit] = outcome
        listed = {each: so_far[each] for each in units if each in so_far}
        write_run_list(stage.folder, stage.recipe, listed)

    return stage.carry_out(FINAL, units, ended=ended)


def _choose(stage: Stage, search: Search, draws: Sequence[DrawScores]) -> int:
    chosen = choose(draws, stage.conduct.accept_incomplete)
    if chosen is None:
        raise RunError(
            f"{search.recipe.name}: of {len(draws)} draws none has all of its runs, so none can be chosen: see "
            f"`wilds-targeted sweep status {shlex.quote(str(stage.folder))}`, mend what made them fail and give the "
            f"same command again; --accept-incomplete chooses where some runs of a draw are enough"
        )
    left_out = [draw.number for draw in draws if not draw.is_complete]
    contents = {**_asked(search), "draw": chosen.number, "val": chosen.val, "values": dict(chosen.values)}
    write_json(stage.folder / CHOICE_FILE, {**contents, "incomplete": left_out})
    if left_out:
        tell(f"Not all runs ended well of the draws {', '.join(map(str, left_out))}.")
    tell(f"Draw {chosen.number} is the best on validation.")
    return chosen.number


def chosen_before(folder: Path, search: Search) -> int | None:
    """The choice of an earlier call among the same runs."""
    contents = read_json(folder / CHOICE_FILE)
    if contents is None:
        return None
    try:
        asked = {name: contents[name] for name in _asked(search)}
        number = int(contents["draw"])
        if asked == _asked(search) and search.draws[number] != contents["values"]:
            raise ValueError("another draw")
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / CHOICE_FILE} is not what `reproduce` writes: remove it to choose again") from error
    return number if asked == _asked(search) else None


def _asked(search: Search) -> dict[str, Any]:
    return {"of_draws": len(search.draws), "of_seeds": list(search.seeds)}


def _generate(out: Path, protocol: Protocol, command: Command) -> None:
    """Write the miniature, unless it is there; recipes of one data set share it."""
    mark = out / DATA_FOLDER / f".{protocol.recipe.dataset}"
    claim(mark, {"miniature": shlex.join(protocol.miniature)}, "`reproduce`")
    with locked(mark):
        write_data(out, protocol.recipe.dataset, protocol.miniature, command)
