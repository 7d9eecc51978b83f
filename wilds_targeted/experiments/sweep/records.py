"""What a sweep leaves for people and for other commands: ``results.csv`` and ``runs.json``."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wilds_targeted.errors import DataError
from wilds_targeted.experiments.recipes import Recipe
from wilds_targeted.experiments.runs import LIST_FILE
from wilds_targeted.experiments.space import as_word
from wilds_targeted.experiments.sweep.choice import DrawScores
from wilds_targeted.experiments.sweep.driver import Outcome
from wilds_targeted.experiments.sweep.unit import Failure, Result, Unit, write_json
from wilds_targeted.files import written_whole

RESULTS_FILE = "results.csv"
TUNING, FINAL = "tuning", "final"
_STAGE, _DRAW, _SEED, _EPOCH, _RUN, _FAILURE = "stage", "draw", "seed", "epoch", "run", "failure"


@dataclass(frozen=True)
class Record:
    """A line of the table of results.

    Args:
        stage: ``tuning`` or ``final``.
        draw: The draw's number; None where nothing was drawn.
        values: What was drawn.
        unit: The run.
        outcome: How it ended.
    """

    stage: str
    draw: int | None
    values: Mapping[str, Any]
    unit: Unit
    outcome: Outcome


def write_results(folder: Path, recipe: Recipe, records: Sequence[Record]) -> None:
    """All runs with their draws and scores, in an order that does not depend on which ended first."""
    names = list(dict.fromkeys(name for record in records for name in record.values))
    splits = ("val", recipe.in_domain, recipe.out_of_domain)
    with (
        written_whole(folder / RESULTS_FILE) as arriving,
        arriving.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            [
                _STAGE,
                _DRAW,
                _SEED,
                *names,
                _EPOCH,
                *(f"{split} {recipe.metric}" for split in splits),
                _RUN,
                _FAILURE,
            ]
        )
        for record in records:
            drawn = [as_word(record.values[name]) if name in record.values else "" for name in names]
            number = "" if record.draw is None else record.draw
            writer.writerow([record.stage, number, record.unit.seed, *drawn, *_cells(record)])


@dataclass(frozen=True)
class Told:
    """What a table of results tells of the search.

    Args:
        metric: The score on ``val`` that chose.
        searched: The names of what was drawn.
        draws: How many draws there were.
        seeds: With which each of them was trained.
        failed: How many of these runs failed.
        has_final: Whether the chosen draw was trained anew.
    """

    metric: str
    searched: tuple[str, ...]
    draws: int
    seeds: tuple[int, ...]
    failed: int
    has_final: bool


def read_search(folder: Path) -> Told | None:
    """The search of which `write_results` wrote the table into that folder; None without a table, or a search.

    Raises:
        DataError: The table is something else.
    """
    path = folder / RESULTS_FILE
    try:
        with path.open(newline="", encoding="utf-8") as file:
            columns, *lines = list(csv.reader(file, strict=True)) or [[]]
        rows = [dict(zip(columns, line, strict=True)) for line in lines]
        tuning = [row for row in rows if row[_STAGE] == TUNING and row[_DRAW]]
        if not tuning:
            return None
        end = columns.index(_EPOCH)
        return Told(
            metric=columns[end + 1].removeprefix("val "),
            searched=tuple(columns[columns.index(_SEED) + 1 : end]),
            draws=len({row[_DRAW] for row in tuning}),
            seeds=tuple(sorted({int(row[_SEED]) for row in tuning})),
            failed=sum(bool(row[_FAILURE]) for row in tuning),
            has_final=any(row[_STAGE] == FINAL for row in rows),
        )
    except FileNotFoundError:
        return None
    except (csv.Error, IndexError, KeyError, ValueError) as error:
        raise DataError(f"{path} is not what a sweep writes ({error}): give the same command again") from error


def _cells(record: Record) -> list[object]:
    outcome, place = record.outcome, record.unit.place
    if isinstance(outcome, Failure):
        return ["", "", "", "", place, outcome.message]
    return [outcome.epoch, outcome.val, outcome.in_domain, outcome.out_of_domain, place, ""]


def write_run_list(folder: Path, recipe: Recipe, outcomes: Mapping[Unit, Outcome]) -> None:
    """The runs that count, for `report` and `submit`; those that tuned are not among them."""
    done = [unit.place for unit, outcome in outcomes.items() if isinstance(outcome, Result)]
    failed = [
        {"unit": unit.key, "seed": unit.seed} for unit, outcome in outcomes.items() if isinstance(outcome, Failure)
    ]
    contents = {"recipe": recipe.name, "title": recipe.title, "runs": done, "failed": failed}
    write_json(folder / LIST_FILE, contents)


def begin_run_list(folder: Path, recipe: Recipe) -> None:
    """A list without runs, unless there is one: no run counts before the end, and `report` must not take them all."""
    if not (folder / LIST_FILE).exists():
        write_run_list(folder, recipe, {})


def draws_table(recipe: Recipe, draws: Sequence[DrawScores], chosen: int | None) -> str:
    """The draws with their scores in per cent; the chosen one is marked."""
    names = list(draws[0].values)
    lines = [["", "draw", *names, "val", recipe.in_domain, recipe.out_of_domain]]
    for draw in draws:
        mark = "*" if draw.number == chosen else ""
        values = [f"{value:.4g}" if isinstance(value, float) else as_word(value) for value in draw.values.values()]
        scores = [draw.estimate(split) for split in ("val", "in_domain", "out_of_domain")]
        lines.append([mark, str(draw.number), *values, *scores])
    return aligned(lines)


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns of text, each as wide as it must be."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
