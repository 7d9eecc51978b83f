"""How far a sweep is, read from its folder alone: while it runs, after a kill, from another machine."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wilds_targeted.errors import DataError
from wilds_targeted.experiments.progress import epochs_evaluated
from wilds_targeted.experiments.sweep.stage import PLAN_FILE
from wilds_targeted.experiments.sweep.unit import (
    STARTS_FILE,
    UNITS_FOLDER,
    Failure,
    Result,
    read_failure,
    read_json,
    read_result,
)
from wilds_targeted.files import is_locked
from wilds_targeted.runner.progress import duration


@dataclass(frozen=True)
class Status:
    """How far a sweep is.

    Args:
        folder: The sweep's.
        recipe: Its recipe's name.
        stage: ``tuning`` or ``final``.
        is_driven: Whether a driver is at work.
        done: How many units have a result.
        running: The names of those that are being worked on.
        failed: Those that failed for good, by name.
        left: How many have neither begun nor failed; those that were interrupted included.
        later: How many more come in a later stage.
        seconds_left: An estimate; None where no unit has ended yet.
        command: What began it, to go on with.
    """

    folder: Path
    recipe: str
    stage: str
    is_driven: bool
    done: int
    running: tuple[str, ...]
    failed: dict[str, Failure]
    left: int
    later: int
    seconds_left: float | None
    command: str

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "folder": str(self.folder),
            "recipe": self.recipe,
            "stage": self.stage,
            "driver_at_work": self.is_driven,
            "done": self.done,
            "running": list(self.running),
            "failed": {name: failure.message for name, failure in self.failed.items()},
            "left": self.left,
            "later": self.later,
            "seconds_left": self.seconds_left,
            "command": self.command,
        }

    def __str__(self) -> str:
        """In a few lines."""
        later = f", {self.later} more in a later stage" if self.later else ""
        counts = f"{self.done} done, {len(self.running)} running, {len(self.failed)} failed, {self.left} left{later}"
        lines = [f"{self.folder}: {self.recipe}, {self.stage}: {counts}"]
        lines += [f"  running: {name}" for name in self.running]
        lines += [f"  failed: {name}: {failure.message}" for name, failure in self.failed.items()]
        if self.left or self.later or self.running:
            left = "not known yet" if self.seconds_left is None else f"about {duration(self.seconds_left)}"
            lines.append(f"  time left: {left}")
            if not self.is_driven:
                lines.append(f"  no driver is at work; go on with: {self.command}")
        elif self.failed and not self.is_driven:
            lines.append(f"  what failed is tried again by: {self.command}")
        return "\n".join(lines)


def read_status(folder: str | Path) -> list[Status]:
    """The status of the sweep in that folder, or of all in folders inside it, as `reproduce` makes them.

    Raises:
        DataError: There is none.
    """
    folder = Path(folder)
    plans = (
        [folder / PLAN_FILE]
        if (folder / PLAN_FILE).exists()
        else sorted([*folder.glob(f"*/{PLAN_FILE}"), *folder.glob(f"*/*/{PLAN_FILE}")])
    )
    if not plans:
        raise DataError(f"{folder} holds no sweep (no {PLAN_FILE}); give what was given as --out")
    return [_status(plan.parent) for plan in plans]


def _status(folder: Path) -> Status:
    plan = read_json(folder / PLAN_FILE)
    results: list[Result] = []
    running: list[str] = []
    failed: dict[str, Failure] = {}
    epochs_left, left = 0.0, 0
    try:
        for entry in plan["units"]:
            name, epochs = entry["unit"], entry["epochs"]
            place = folder / UNITS_FOLDER / name
            if (result := read_result(place)) is not None:
                results.append(result)
                continue
            is_running = is_locked(place / STARTS_FILE)
            if not is_running and (failure := read_failure(place)) is not None:
                failed[name] = failure
                continue
            if is_running:
                running.append(name)
            else:
                left += 1
            epochs_left += 1 - epochs_evaluated(place, epochs) / epochs
        later, at_a_time = plan["later"], plan["at_a_time"]
        recipe, stage, command = plan["recipe"], plan["stage"], plan["command"]
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise DataError(f"{folder / PLAN_FILE} is not what a sweep writes ({error!r})") from error
    seconds = seconds_of_a_unit(results)
    return Status(
        folder=folder,
        recipe=recipe,
        stage=stage,
        is_driven=is_locked(folder),
        done=len(results),
        running=tuple(running),
        failed=failed,
        left=left,
        later=later,
        seconds_left=None if seconds is None else seconds * (epochs_left + later) / at_a_time,
        command=command,
    )


def seconds_of_a_unit(results: list[Result]) -> float | None:
    """The mean of those that were not interrupted; None where there is none."""
    whole = [result.seconds for result in results if result.starts == 1]
    return statistics.fmean(whole) if whole else None
