"""The demo: generate a miniature, train some methods on it, and show what came out."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wilds_targeted import __version__
from wilds_targeted.experiments import warm
from wilds_targeted.experiments.claim import claim
from wilds_targeted.experiments.generated import write_data
from wilds_targeted.experiments.plan import DATA_FOLDER, DEFAULT_DATASET, Plan, Run, load_plan
from wilds_targeted.experiments.processes import (
    Command,
    Job,
    core_count,
    own_command,
    run_jobs,
    share_of_cores,
)
from wilds_targeted.experiments.progress import Progress, epochs_evaluated, tell
from wilds_targeted.experiments.results import NO_VALUE, Row, Score, read_scores
from wilds_targeted.files import written_whole

if TYPE_CHECKING:
    from wilds_targeted.experiments.samples import Samples

PAGE_FILE = "index.html"
OUTPUT_FILE = "output.txt"
FINISHED_FILE = "finished.json"


@dataclass(frozen=True)
class Outcome:
    """What the demo found.

    Args:
        plan: What was run.
        rows: The table.
        page: The page that was written.
        seconds: How long this call took.
        jobs: How many runs there were at a time.
        earlier: How many runs an earlier call had finished.
    """

    plan: Plan
    rows: tuple[Row, ...]
    page: Path
    seconds: float
    jobs: int
    earlier: int


def run_demo(
    folder: str | Path,
    *,
    dataset: str = DEFAULT_DATASET,
    world: int = 0,
    seeds: Sequence[int] | None = None,
    quick: bool = False,
    jobs: int | None = None,
    plan: Plan | None = None,
    command: Command = own_command,
) -> Outcome:
    """Write the miniature, train every method with every seed, and write the page.

    Called again with the same settings, it goes on where it was: what is finished is not repeated.

    Args:
        folder: Takes ``data/``, ``runs/`` and ``index.html``.
        dataset: Of which miniature.
        world: The seed of the miniature's generator.
        seeds: Of the training runs; the plan's own by default.
        quick: One seed and fewer epochs.
        jobs: How many runs at a time; as many as cores by default.
        plan: Another plan than the files of ``demos/``; `dataset`, `world`, `seeds` and `quick` then do not count.
        command: From what follows ``wilds-targeted`` to the command that does it.
    """
    started = time.monotonic()
    folder = Path(folder)
    plan = plan or load_plan(dataset, world=world, seeds=seeds, quick=quick)
    runs = plan.runs
    claim(folder, {"version": __version__, **plan.settings}, "the demo")
    at_a_time = min(jobs or core_count(), len(runs))
    if warm.is_available():
        warm.warm_up()
    write_data(folder, plan.dataset, plan.miniature_words, command)

    # Imported now, and drawn before the long part: what is wrong with them is told at once.
    from wilds_targeted.experiments.page import render_page

    samples, images = look_at_data(folder, plan)
    earlier = train(folder, plan, at_a_time, command)
    rows = collect(folder, plan)
    outcome = Outcome(plan, rows, folder / PAGE_FILE, time.monotonic() - started, at_a_time, earlier)
    text = render_page(outcome, samples, images)
    with written_whole(outcome.page) as arriving:
        arriving.write_text(text, encoding="utf-8")
    return outcome


def look_at_data(folder: Path, plan: Plan) -> tuple[Samples, dict[str, tuple[int, int]]]:
    """Sample pictures, and for each split how many domains and images it has."""
    if warm.is_available():
        return warm.call(_look_at_data_here, folder, plan)
    return _look_at_data_here(folder, plan)


def _look_at_data_here(folder: Path, plan: Plan) -> tuple[Samples, dict[str, tuple[int, int]]]:
    from wilds_targeted.api import get_dataset
    from wilds_targeted.experiments.samples import count_images, draw_samples

    dataset = get_dataset(plan.dataset, root_dir=folder / DATA_FOLDER)
    return draw_samples(dataset, plan.methods), count_images(dataset)


def train(folder: Path, plan: Plan, at_a_time: int, command: Command) -> int:
    """Do the runs that are not finished; returns how many were."""
    runs = [run for run in plan.runs if not (folder / run.log_dir / FINISHED_FILE).exists()]
    earlier = len(plan.runs) - len(runs)
    if not runs:
        return earlier
    at_a_time = min(at_a_time, len(runs))
    tell(f"Training {len(runs)} {'run' if len(runs) == 1 else 'runs'}, {at_a_time} at a time.")
    jobs = {_job(folder, run, command): run for run in runs}
    with Progress(len(runs), plan.epochs) as progress:

        def count() -> None:
            progress.epochs_done(sum(_epochs_done(folder / run.log_dir, plan.epochs) for run in runs))

        def finished(job: Job, seconds: float) -> None:
            run = jobs[job]
            scores_of(folder, plan, run)  # a run without results is no finished one
            with written_whole(folder / run.log_dir / FINISHED_FILE) as arriving:
                arriving.write_text(json.dumps({"seconds": round(seconds, 1)}) + "\n", encoding="utf-8")
            count()
            progress.run_finished(run.name, seconds)

        run_jobs(
            list(jobs),
            at_a_time=at_a_time,
            cwd=folder,
            environment=share_of_cores(at_a_time),
            finished=finished,
            waiting=count,
        )
    return earlier


def _job(folder: Path, run: Run, command: Command) -> Job:
    output = folder / run.log_dir / OUTPUT_FILE
    if command is own_command and warm.is_available():
        return Job(f"run {run.name}", run.words, output, is_own=True)
    return Job(f"run {run.name}", tuple(command(run.words)), output)


def _epochs_done(log_dir: Path, epochs: int) -> int:
    """How many of its epochs a run has done; all, where it is finished."""
    return epochs if (log_dir / FINISHED_FILE).exists() else epochs_evaluated(log_dir, epochs)


def collect(folder: Path, plan: Plan) -> tuple[Row, ...]:
    """The table's rows, in the order of the plan."""
    from wilds_targeted.registry import get_registry

    registered = get_registry().transforms
    rows = []
    for method in plan.methods:
        scores = [scores_of(folder, plan, run) for run in plan.runs if run.method == method]
        kind = registered[method.transform].kind.value if method.transform in registered else NO_VALUE
        rows.append(Row(method.title, method.transform, kind, tuple(scores)))
    return tuple(rows)


def scores_of(folder: Path, plan: Plan, run: Run) -> Score:
    """The scores of a finished run."""
    return read_scores(folder / run.log_dir, run.seed, plan.benchmark.metric, plan.benchmark.in_domain)
