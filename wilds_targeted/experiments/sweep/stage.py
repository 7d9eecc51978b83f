"""A sweep's folder while it is worked on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wilds_targeted.experiments.claim import claim
from wilds_targeted.experiments.processes import signals_raise
from wilds_targeted.experiments.recipes import Recipe
from wilds_targeted.experiments.sweep.backend import Backend
from wilds_targeted.experiments.sweep.driver import Driver, Outcome
from wilds_targeted.experiments.sweep.unit import Unit, write_json
from wilds_targeted.experiments.sweep.work import Task, task_of
from wilds_targeted.files import locked, remove_leftovers

PLAN_FILE = "plan.json"

Backends = Callable[[], contextlib.AbstractContextManager[Backend]]


@dataclass(frozen=True)
class Conduct:
    """How a sweep is run; nothing of this changes its numbers, but for the runner where those differ.

    Args:
        root_dir: The folder of the data set's folder.
        backends: Opens the place where units run.
        runner: Whose training loop.
        retries: How often a unit is tried again that fails.
        accept_incomplete: Whether a draw can be chosen of which some runs failed.
        storage: The ledger's; a file in the sweep's folder by default.
        command: What the user typed, for `status`.
    """

    root_dir: Path
    backends: Backends
    runner: str = "builtin"
    retries: int = 1
    accept_incomplete: bool = False
    storage: str | None = None
    command: str = ""


@dataclass
class Stage:
    """A sweep's folder while it is worked on: the driver with what it needs to go through lists of units.

    Args:
        folder: The sweep's.
        recipe: What is trained.
        conduct: How.
        planned: The units so far, for `status`.
    """

    folder: Path
    recipe: Recipe
    conduct: Conduct
    planned: list[Unit] = field(default_factory=list)

    def carry_out(
        self,
        name: str,
        units: Sequence[Unit],
        *,
        later: int = 0,
        begun: Callable[[Unit], None] = lambda unit: None,
        ended: Callable[[Unit, Outcome], None] = lambda unit, outcome: None,
        again: bool = True,
    ) -> dict[Unit, Outcome]:
        """Do the units.

        Args:
            name: The stage's.
            units: What to do.
            later: How many units come after these, which are not known yet.
            begun: See `Driver.carry_out`.
            ended: The same.
            again: The same.
        """
        self.planned = list(dict.fromkeys([*self.planned, *units]))
        with self.conduct.backends() as backend:
            self._note_plan(name, later, backend.at_a_time)
            driver = Driver(self.folder, backend, self._task, self.conduct.retries)
            return driver.carry_out(units, begun=begun, ended=ended, again=again)

    def _note_plan(self, name: str, later: int, at_a_time: int) -> None:
        units = [{"unit": unit.key, "epochs": unit.epochs} for unit in self.planned]
        contents = {
            "recipe": self.recipe.name,
            "stage": name,
            "command": self.conduct.command,
            "at_a_time": at_a_time,
            "later": later,
            "units": units,
        }
        write_json(self.folder / PLAN_FILE, contents)

    def _task(self, unit: Unit) -> Task:
        recipe, conduct = self.recipe, self.conduct
        splits = (recipe.in_domain, recipe.out_of_domain)
        return task_of(unit, self.folder, conduct.root_dir, conduct.runner, recipe.metric, splits)


@contextlib.contextmanager
def opened(folder: Path, settings: Mapping[str, Any], recipe: Recipe, conduct: Conduct) -> Iterator[Stage]:
    """The sweep's folder, claimed for these settings and locked against other drivers."""
    claim(folder, {**settings, "runner": conduct.runner}, "such a sweep")
    with locked(folder), signals_raise():
        remove_leftovers(folder)
        yield Stage(folder, recipe, conduct)
