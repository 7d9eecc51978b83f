"""The demo: generate a miniature, train some methods on it, and show what came out."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wilds_targeted import __version__
from wilds_targeted.errors import ConfigError, DataError
from wilds_targeted.experiments import warm
from wilds_targeted.experiments.plan import DATA_FOLDER, DEFAULT_DATASET, Plan, Run, load_plan
from wilds_targeted.experiments.processes import Job, core_count, run_jobs
from wilds_targeted.experiments.progress import Progress
from wilds_targeted.experiments.results import NO_VALUE, Row, Score, read_scores
from wilds_targeted.files import written_whole
from wilds_targeted.runner.progress import duration

if TYPE_CHECKING:
    from wilds_targeted.experiments.samples import Samples

SETTINGS_FILE = "settings.json"
PAGE_FILE = "index.html"
OUTPUT_FILE = "output.txt"
FINISHED_FILE = "finished.json"

Command = Callable[[Sequence[str]], list[str]]


def own_command(words: Sequence[str]) -> list[str]:
    """``wilds-targeted WORDS`` in this very environment; -P keeps the working folder out of the modules' way."""
    return [sys.executable, "-P", "-m", "wilds_targeted", *words]


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
    claim(folder, plan)
    at_a_time = min(jobs or core_count(), len(runs))
    if warm.is_available():
        warm.warm_up()
    write_data(folder, plan, command)

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


def claim(folder: Path, plan: Plan) -> None:
    """Take the folder for this plan; refuse one that holds another plan's results, or anything else."""
    mine = json.loads(json.dumps({"version": __version__, **plan.settings}))
    path = folder / SETTINGS_FILE
    if path.exists():
        theirs = _read_settings(path)
        other = [key for key in mine if theirs.get(key) != mine[key]]
        if other:
            key = other[0]
            raise ConfigError(
                f"{folder} was begun with other settings ({key} {_brief(theirs.get(key))} there, {_brief(mine[key])} "
                f"now): choose another folder with --out, or begin anew with `rm -r {shlex.quote(str(folder))}`."
            )
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is there and was not made by the demo: choose another folder with --out.")
    with written_whole(path) as arriving:
        arriving.write_text(json.dumps(mine, indent=2) + "\n", encoding="utf-8")


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not the demo's own: choose another folder with --out.") from error
    return settings


def _brief(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | dict) else str(value)


def write_data(folder: Path, plan: Plan, command: Command) -> None:
    """Write the miniature, unless it is there: the generator writes it whole or not at all."""
    if _is_there(folder, plan):
        return
    _tell("Generating the miniature …")
    started = time.monotonic()
    output = None if sys.stderr.isatty() else folder / "miniature.txt"  # a terminal shows the generator's own bar
    job = Job("the generator", tuple(command(plan.miniature_words)), output)
    run_jobs([job], at_a_time=1, cwd=folder, environment={}, finished=lambda job, seconds: None)
    _tell(f"Generated in {duration(time.monotonic() - started)}.")


def train(folder: Path, plan: Plan, at_a_time: int, command: Command) -> int:
    """Do the runs that are not finished; returns how many were."""
    runs = [run for run in plan.runs if not (folder / run.log_dir / FINISHED_FILE).exists()]
    earlier = len(plan.runs) - len(runs)
    if not runs:
        return earlier
    at_a_time = min(at_a_time, len(runs))
    threads = str(max(1, core_count() // at_a_time))
    _tell(f"Training {len(runs)} {'run' if len(runs) == 1 else 'runs'}, {at_a_time} at a time.")
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
            environment={"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads},
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
    """How many of its epochs a run has evaluated: the lines below the header; all, where it is finished."""
    if (log_dir / FINISHED_FILE).exists():
        return epochs
    path = log_dir / "val_eval.csv"
    return min(epochs, max(0, path.read_bytes().count(b"\n") - 1)) if path.exists() else 0


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


def _is_there(folder: Path, plan: Plan) -> bool:
    """Whether the miniature is: WILDS takes this file for a sign of it, too."""
    return any((folder / DATA_FOLDER).glob(f"{plan.dataset}_v*/RELEASE_v*.txt"))


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
