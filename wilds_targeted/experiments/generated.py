"""The miniature that an experiment runs on, generated into its folder."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from wilds_targeted.experiments.plan import DATA_FOLDER
from wilds_targeted.experiments.processes import Command, Job, run_jobs
from wilds_targeted.experiments.progress import tell
from wilds_targeted.runner.progress import duration


def write_data(folder: Path, dataset: str, words: Sequence[str], command: Command) -> None:
    """Write the miniature, unless it is there: the generator writes it whole or not at all.

    Args:
        folder: Takes ``data/``.
        dataset: Of which miniature.
        words: What follows ``wilds-targeted`` to write it, with paths relative to the folder.
        command: From that to the command that does it.
    """
    if _is_there(folder, dataset):
        return
    tell("Generating the miniature …")
    started = time.monotonic()
    output = None if sys.stderr.isatty() else folder / "miniature.txt"  # a terminal shows the generator's own bar
    job = Job("the generator", tuple(command(words)), output)
    run_jobs([job], at_a_time=1, cwd=folder, environment={}, finished=lambda job, seconds: None)
    tell(f"Generated in {duration(time.monotonic() - started)}.")


def _is_there(folder: Path, dataset: str) -> bool:
    """Whether the miniature is: WILDS takes this file for a sign of it, too."""
    return any((folder / DATA_FOLDER).glob(f"{dataset}_v*/RELEASE_v*.txt"))
