"""The ledger of a sweep: an Optuna study with one trial for each draw, which the driver alone writes.

Optuna draws nothing here: the draws come from one seeded stream (a sampler that is seeded again on resuming repeats
itself) and are put into the study before anything runs. Optuna's own tools can then read it.
"""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wilds_targeted.errors import DataError, RunError, one_line
from wilds_targeted.experiments.space import Distribution, SearchSpace

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial, TrialState

_DRAW = "draw"
_VALUES = "values"


class Ledger:
    """The study of one search.

    Args:
        storage: An Optuna storage's URL.
        name: The study's name.
        space: What is searched.
    """

    def __init__(self, storage: str, name: str, space: SearchSpace) -> None:
        import optuna

        self._optuna = optuna
        self._storage = storage
        self._space = space
        with self._access():
            self._study = optuna.create_study(
                storage=storage,
                study_name=name,
                direction="maximize",
                sampler=optuna.samplers.RandomSampler(seed=0),
                load_if_exists=True,
            )

    def enqueue(self, draws: Sequence[Mapping[str, Any]]) -> None:
        """Put in those that are not there, in their order.

        Raises:
            DataError: The study has other draws.
        """
        known = self._trials()
        for number, draw in enumerate(draws):
            if number in known:
                there = json.loads(known[number].user_attrs[_VALUES])
                if there != draw:
                    raise DataError(
                        f"the ledger's draw {number} is {json.dumps(there)}, and {json.dumps(draw)} is expected: it "
                        f"belongs to another search; choose another folder, or another --storage"
                    )
            else:
                self._add(number, draw, self._optuna.trial.TrialState.WAITING)

    def begin(self, draw: int) -> None:
        """Work on that draw begins, or goes on; one that had failed gets a new trial."""
        state = self._optuna.trial.TrialState
        trial = self._trials()[draw]
        if trial.state == state.FAIL:
            self._add(draw, json.loads(trial.user_attrs[_VALUES]), state.RUNNING)
        elif trial.state == state.WAITING:
            self._running(draw)

    def complete(self, draw: int, value: float) -> None:
        """All runs of that draw have ended well, with this mean."""
        if self._trials()[draw].state != self._optuna.trial.TrialState.COMPLETE:
            self.begin(draw)
            with self._access():
                self._study.tell(self._running(draw), value)

    def fail(self, draw: int) -> None:
        """Some run of that draw has failed for good."""
        if not self._trials()[draw].state.is_finished():
            with self._access():
                self._study.tell(self._running(draw), state=self._optuna.trial.TrialState.FAIL)

    def _running(self, draw: int) -> int:
        """The number of the draw's trial, which is asked for, as Optuna wants it, if it still waits for that."""
        state = self._optuna.trial.TrialState
        with self._access():
            while (trial := self._trials()[draw]).state == state.WAITING:
                self._study.ask()  # gives the waiting ones in their order
        return trial.number

    def _trials(self) -> dict[int, FrozenTrial]:
        """The last trial of each draw."""
        with self._access():
            trials = self._study.get_trials(deepcopy=False)
        return {trial.user_attrs[_DRAW]: trial for trial in trials if _DRAW in trial.user_attrs}

    def _add(self, number: int, draw: Mapping[str, Any], state: TrialState) -> None:
        """A trial with its values, in one transaction: a driver that is killed leaves it whole or not at all."""
        with self._access():
            trial = self._optuna.trial.create_trial(
                state=state,
                params={name: draw[name] for name in self._space.free},
                distributions={name: _for_optuna(each) for name, each in self._space.free.items()},
                user_attrs={_DRAW: number, _VALUES: json.dumps(draw)},
            )
            self._study.add_trial(trial)

    @contextlib.contextmanager
    def _access(self) -> Iterator[None]:
        """Without Optuna's lines about each trial; what is wrong with the storage is told in one."""
        logging, notes = self._optuna.logging, self._optuna.exceptions.ExperimentalWarning
        before = logging.get_verbosity()
        logging.set_verbosity(logging.ERROR)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", notes)
                yield
        except Exception as error:  # SQLAlchemy has many, and drivers of databases more
            problem = one_line(error.__cause__ or error).partition(" [SQL: ")[0].partition(" (Background on")[0]
            raise RunError(
                f"the ledger {self._storage} can't be read or written: {problem}. No run is lost: mend that, or give "
                f"another --storage, and give the same command again"
            ) from error
        finally:
            logging.set_verbosity(before)


def _for_optuna(distribution: Distribution) -> BaseDistribution:
    import optuna.distributions as of_optuna

    if distribution.kind == "choice":
        return of_optuna.CategoricalDistribution(distribution.values)
    low, high = distribution.values
    if distribution.kind == "integers":
        return of_optuna.IntDistribution(low, high)
    if distribution.kind == "log10_uniform":
        return of_optuna.FloatDistribution(distribution.at(0.0), distribution.at(1.0), log=True)
    return of_optuna.FloatDistribution(low, high)
