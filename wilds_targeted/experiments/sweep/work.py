"""Doing a unit, in whatever process and on whatever machine: all that it needs comes as plain data."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wilds_targeted.errors import DataError, RunError
from wilds_targeted.experiments.runs import RunFolder, read_run
from wilds_targeted.experiments.space import is_number
from wilds_targeted.experiments.sweep.unit import (
    STARTS_FILE,
    UNIT_FILE,
    Result,
    Unit,
    forget_failure,
    read_result,
    write_json,
    write_outcome,
)
from wilds_targeted.files import locked
from wilds_targeted.runner.versions import installed_versions, read_versions

POLL_SECONDS = 0.2

Train = Callable[[Sequence[str]], None]


@dataclass(frozen=True)
class Task:
    """A unit with all that it takes to do it.

    Args:
        unit: What `Unit.described` gives.
        folder: Its folder.
        words: What follows ``wilds-targeted``.
        metric: The column to report.
        in_domain: The in-domain split.
        out_of_domain: The out-of-domain split.
    """

    unit: dict[str, Any]
    folder: str
    words: list[str]
    metric: str
    in_domain: str
    out_of_domain: str

    def params(self) -> dict[str, Any]:
        """As plain data, for a backend."""
        return asdict(self)


def task_of(unit: Unit, folder: Path, root_dir: Path, runner: str, metric: str, splits: tuple[str, str]) -> Task:
    """The task that a unit is in a sweep's folder."""
    place = folder.absolute() / unit.place
    return Task(
        unit=unit.described(),
        folder=str(place),
        words=run_words(unit.flags, runner, str(root_dir.absolute()), unit.seed, str(place)),
        metric=metric,
        in_domain=splits[0],
        out_of_domain=splits[1],
    )


def run_words(flags: Sequence[str], runner: str, root_dir: str, seed: int, log_dir: str) -> list[str]:
    """What follows ``wilds-targeted`` to train one unit."""
    own = ["--root_dir", root_dir, "--seed", str(seed), "--log_dir", log_dir, "--resume"]
    return ["run", "--runner", runner, *flags, *own]


def train_here(words: Sequence[str]) -> None:
    """``wilds-targeted WORDS`` in this process."""
    from wilds_targeted.cli import cli

    cli.main(args=list(words), prog_name="wilds-targeted", standalone_mode=False)


def do_unit(params: dict[str, Any], train: Train = train_here) -> None:
    """Train the unit and write its result, unless that is there.

    Where another process is at it, as one may be that outlived its driver, its end is waited for.

    Args:
        params: A `Task` as plain data.
        train: Runs a command of ours.
    """
    task = Task(**params)
    folder = Path(task.folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / UNIT_FILE).exists():
        write_json(folder / UNIT_FILE, task.unit)
    (folder / STARTS_FILE).touch()
    with _alone(folder / STARTS_FILE):
        if read_result(folder) is not None:
            return
        forget_failure(folder)
        starts = _note_start(folder)
        started = time.monotonic()
        train(task.words)
        write_outcome(folder, _measure(task, starts, time.monotonic() - started))


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the unit's lock, from which `status` sees that it is being worked on; the run has one of its own."""
    with contextlib.ExitStack() as stack:
        told = False
        while True:
            try:
                stack.enter_context(locked(path))
                break
            except RunError:
                if not told:
                    print(f"waiting for another process that works on {path.parent}", file=sys.stderr, flush=True)
                    told = True
                time.sleep(POLL_SECONDS)
        yield


def _note_start(folder: Path) -> int:
    """Write down that it begins; gives how often it has begun."""
    path = folder / STARTS_FILE
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {platform.node()} {os.getpid()}\n")
    return len(path.read_text(encoding="utf-8").splitlines())


def _measure(task: Task, starts: int, seconds: float) -> Result:
    run = read_run(task.folder)
    epoch = run.best_epoch()
    val, in_domain, out_of_domain = (
        score(run, split, epoch, task.metric) for split in ("val", task.in_domain, task.out_of_domain)
    )
    versions = read_versions(run.path) or [installed_versions()]  # WILDS's script notes none
    return Result(epoch, val, in_domain, out_of_domain, round(seconds, 1), starts, versions)


def score(run: RunFolder, split: str, epoch: int, metric: str) -> float:
    """One cell of a run's tables."""
    row = run.table(split).get(epoch)
    if row is None:
        raise DataError(f"{run.path}: epoch {epoch} was selected, and {split}_eval.csv has no such row")
    if metric not in row:
        raise DataError(f"{run.path}/{split}_eval.csv has no column {metric!r}; its columns: {', '.join(row)}")
    if not is_number(row[metric]):
        raise DataError(f"{run.path}/{split}_eval.csv: {metric} is {row[metric]} in the selected epoch {epoch}")
    return row[metric]
