"""How hyperparameters were selected, where the folder of a tuned recipe tells."""

from __future__ import annotations

import csv
from pathlib import Path

from wilds_targeted.errors import DataError
from wilds_targeted.experiments.leaderboard.rules import in_words
from wilds_targeted.experiments.runs import RunFolder

RESULTS_FILE = "results.csv"
"""What `reproduce` writes beside its list of runs: a line each, tuning runs and final ones."""


def how_tuned(run: RunFolder) -> str | None:
    """The search in a sentence; None where none is told, or none was done."""
    if run.listed is None:
        return None
    path = run.listed.path.parent / RESULTS_FILE
    columns, rows = _read(path)
    tuning = [row for row in rows if row.get("stage") == "tuning" and row.get("draw")]
    metric = next((name.removeprefix("val ") for name in columns if name.startswith("val ")), None)
    if not tuning or metric is None or not any(row["stage"] == "final" for row in rows):
        return None
    searched = columns[columns.index("seed") + 1 : columns.index("epoch")]
    draws = len({row["draw"] for row in tuning})
    failed = sum(bool(row.get("failure")) for row in tuning)
    seeds = sorted({int(row["seed"]) for row in tuning})
    with_seeds = f"seed{'s' if len(seeds) > 1 else ''} {in_words(seeds)}"
    return (
        f"By {draws} random draws of {', '.join(f'`{name}`' for name in searched)}, each trained with {with_seeds}"
        f"{f' ({failed} of these runs failed)' if failed else ''}: the draw with the best mean `{metric}` on `val` was "
        f"chosen and trained with the seeds above."
    )


def _read(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Columns and rows; none where there is no such table."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            columns = list(reader.fieldnames or ())
    except FileNotFoundError:
        return [], []
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path} is broken ({error}); give the log folders themselves") from error
    if not {"stage", "draw", "seed", "epoch"} <= set(columns):
        return [], []
    return columns, rows
