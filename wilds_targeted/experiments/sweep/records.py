"""What a sweep leaves for people and for other commands: ``results.csv`` and ``runs.json``."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wilds_targeted.experiments.recipes import Recipe
from wilds_targeted.experiments.runs import LIST_FILE
from wilds_targeted.experiments.space import as_word
from wilds_targeted.experiments.sweep.choice import DrawScores
from wilds_targeted.experiments.sweep.driver import Outcome
from wilds_targeted.experiments.sweep.unit import Failure, Result, Unit, write_json
from wilds_targeted.files import written_whole

RESULTS_FILE = "results.csv"
TUNING, FINAL = "tuning", "final"


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
                "stage",
                "draw",
                "seed",
                *names,
                "epoch",
                *(f"{split} {recipe.metric}" for split in splits),
                "run",
                "failure",
            ]
        )
        for record in records:
            drawn = [as_word(record.values[name]) if name in record.values else "" for name in names]
            number = "" if record.draw is None else record.draw
            writer.writerow([record.stage, number, record.unit.seed, *drawn, *_cells(record)])


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
