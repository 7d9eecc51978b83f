"""The driver: sees to it that every unit of a list is done, once, and tries again what fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wilds_targeted.errors import DataError, one_line
from wilds_targeted.experiments.processes import POLL_SECONDS, leave_if_asked
from wilds_targeted.experiments.progress import Progress, epochs_evaluated, tell
from wilds_targeted.experiments.sweep.backend import Backend
from wilds_targeted.experiments.sweep.unit import (
    Failure,
    Result,
    Unit,
    forget_failure,
    read_failure,
    read_result,
    write_outcome,
)
from wilds_targeted.experiments.sweep.work import Task

Outcome = Result | Failure
Hook = Callable[[Unit, Outcome], None]


@dataclass(frozen=True)
class Driver:
    """How units are run.

    Args:
        folder: The sweep's.
        backend: Where they run.
        task: What there is to do for a unit.
        retries: How often a unit is tried again that fails.
    """

    folder: Path
    backend: Backend
    task: Callable[[Unit], Task]
    retries: int

    def carry_out(
        self, units: Sequence[Unit], *, begun: Callable[[Unit], None], ended: Hook, again: bool = True
    ) -> dict[Unit, Outcome]:
        """Do all that are not done.

        Args:
            units: In the order in which they shall begin.
            begun: Told of each that begins to run here.
            ended: Told of each that has a result or has failed for good, those done before included.
            again: Whether those that failed in an earlier call are tried again.
        """
        outcomes: dict[Unit, Outcome] = {}
        waiting = []
        for unit in units:
            place = self.folder / unit.place
            outcome = read_result(place) or (None if again else read_failure(place))
            if outcome is None:
                forget_failure(place)
                waiting.append(unit)
            else:
                outcomes[unit] = outcome
                ended(unit, outcome)
        if waiting:
            self._run(waiting, outcomes, begun, ended)
        return {unit: outcomes[unit] for unit in units}

    def _run(
        self, units: Sequence[Unit], outcomes: dict[Unit, Outcome], begun: Callable[[Unit], None], ended: Hook
    ) -> None:
        at_a_time = min(self.backend.at_a_time, len(units))
        tell(f"Training {len(units)} {'run' if len(units) == 1 else 'runs'}, {at_a_time} at a time.")
        attempts: Counter[Unit] = Counter()
        to_begin = set(units)
        futures = {self._submit(unit): unit for unit in units}
        with Progress(len(units), units[0].epochs) as progress:
            while futures:
                done, _ = wait(futures, POLL_SECONDS, FIRST_COMPLETED)
                leave_if_asked()
                running = [unit for future, unit in futures.items() if future.running() or future in done]
                for unit in to_begin.intersection(running):
                    begun(unit)
                to_begin.difference_update(running)
                for future in done:
                    unit = futures.pop(future)
                    attempts[unit] += 1
                    outcome = self._outcome(unit, future, attempts[unit])
                    if isinstance(outcome, Failure) and outcome.attempts <= self.retries:
                        tell(f"{unit.key} failed and is tried again: {outcome.message}")
                        futures[self._submit(unit)] = unit
                        continue
                    outcomes[unit] = outcome
                    if isinstance(outcome, Failure):
                        write_outcome(self.folder / unit.place, outcome)
                    ended(unit, outcome)
                    self._show(progress, unit, outcome, futures)
                progress.running = sum(future.running() for future in futures)
                progress.epochs_done(sum(self._epochs_done(unit, outcomes) for unit in units))

    def _submit(self, unit: Unit) -> Future[Any]:
        return self.backend.submit(unit.key, self.task(unit).params())

    def _outcome(self, unit: Unit, future: Future[Any], attempts: int) -> Outcome:
        """How it ended; whatever the backend raises is the unit's failure, a broken result, too."""
        try:
            future.result()
            result = read_result(self.folder / unit.place)
            if result is None:
                raise DataError(f"unit {unit.key} ended well, and there is no result in {self.folder / unit.place}")
            return result
        except Exception as error:  # each backend has its own
            return Failure(one_line(error), attempts)

    def _epochs_done(self, unit: Unit, outcomes: dict[Unit, Outcome]) -> int:
        return unit.epochs if unit in outcomes else epochs_evaluated(self.folder / unit.place, unit.epochs)

    def _show(self, progress: Progress, unit: Unit, outcome: Outcome, futures: dict[Future[Any], Unit]) -> None:
        progress.running = sum(future.running() for future in futures)
        if isinstance(outcome, Failure):
            progress.run_failed(unit.key)
        else:
            progress.run_finished(unit.key, outcome.seconds)
