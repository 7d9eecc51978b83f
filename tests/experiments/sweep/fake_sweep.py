"""A sweep whose training is fake; its driver is this process, or one of its own.

As a program: ``fake_sweep.py FOLDER OUT sweep|reproduce JOBS``, with a process for each run.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import optuna
from fake_unit import read_calls, train

from wilds_targeted.experiments.protocol import Protocol
from wilds_targeted.experiments.recipes import get_recipe
from wilds_targeted.experiments.reproduce import Reproduction, reproduce
from wilds_targeted.experiments.sweep.backend import LocalPool
from wilds_targeted.experiments.sweep.stage import Conduct
from wilds_targeted.experiments.sweep.sweep import SweepOutcome, run_sweep, search_of
from wilds_targeted.experiments.sweep.work import do_unit

RECIPE = """
dataset = "iwildcam"
flags = "--algorithm ERM --n_epochs 3 --val_metric acc_avg"
metric = "acc_avg"
in_domain = "id_test"
out_of_domain = "test"
n_draws = 4
tuning_seeds = [0, 1]
final_seeds = [0, 1, 2]
images = { train = 100, id_val = 10, id_test = 20, val = 30, test = 40 }

[[recipes]]
name = "mine"
title = "My Method"
flags = "--transform image_base"
search.lr = { log10_uniform = [-4, -2] }
tuned = { lr = 0.001 }
[[recipes.published]]
table = "tab:mine"
id_test = [95.0, 1.0]
test = [50.0, 0.5]
"""


class Threads:
    """A backend behind the same interface, without the time that processes take to start."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.at_a_time = jobs
        self._train = partial(train, folder)
        self._threads = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def submit(self, key: str, params: dict[str, Any]) -> Future[Any]:
        return self._threads.submit(do_unit, json.loads(json.dumps(params)), self._train)


@cache
def empty_ledger() -> Path:
    """Making a ledger takes a dozen writes that wait for the disk."""
    path = Path(tempfile.mkdtemp()) / "ledger.sqlite3"
    optuna.storages.get_storage(f"sqlite:///{path}")
    return path


@dataclass
class FakeSweep:
    """Runs sweeps with `fake_unit.py` and reads what it noted."""

    folder: Path
    out: Path

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.sqlite3"

    def prepare(self, seconds: float = 0.0, **behaviour: str) -> FakeSweep:
        self.folder.mkdir(exist_ok=True)
        if not self.ledger.exists():
            shutil.copy(empty_ledger(), self.ledger)
        (self.folder / "mine.toml").write_text(RECIPE)
        named = {name.replace("_", "-"): what for name, what in behaviour.items()}
        (self.folder / "behaviour.json").write_text(json.dumps({"seconds": seconds, **named}))
        return self

    def command(self, words: Sequence[str]) -> list[str]:
        return [sys.executable, str(Path(__file__).with_name("fake_unit.py")), str(self.folder), *words]

    def conduct(self, jobs: int = 2, gpus: Sequence[str] = (), in_processes: bool = False, **options: Any) -> Conduct:
        if in_processes:
            return Conduct(Path("data"), lambda: LocalPool(jobs, gpus, self.command), command="again", **options)
        options.setdefault("storage", f"sqlite:///{self.ledger}")
        return Conduct(Path("data"), lambda: Threads(self.folder, jobs), command="again", **options)

    def sweep(
        self, n_draws: int | None = None, seeds: Sequence[int] | None = None, draw_seed: int = 0, **conduct: Any
    ) -> SweepOutcome:
        recipe = replace(get_recipe(str(self.folder / "mine.toml")), name="iwildcam/mine")
        return run_sweep(search_of(recipe, n_draws, seeds, draw_seed), self.out, self.conduct(**conduct))

    def protocol(self, **options: Any) -> Protocol:
        return Protocol.of(replace(get_recipe(str(self.folder / "mine.toml")), name="iwildcam/mine"), **options)

    def reproduce(self, options: dict[str, Any] | None = None, **conduct: Any) -> Reproduction:
        return reproduce(self.protocol(**(options or {})), self.out, self.conduct(**conduct))

    def calls(self, what: str) -> list[dict[str, Any]]:
        return [call for call in read_calls(self.folder) if call["what"] == what]


if __name__ == "__main__":
    fake = FakeSweep(Path(sys.argv[1]), Path(sys.argv[2]))
    getattr(fake, sys.argv[3])(jobs=int(sys.argv[4]), in_processes=True)
