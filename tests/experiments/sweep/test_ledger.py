"""The ledger: each draw is put in once, also by a driver that is killed while doing so, and told once."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import optuna
import pytest

from wilds_targeted.errors import DataError, RunError
from wilds_targeted.experiments.space import SearchSpace
from wilds_targeted.experiments.sweep.ledger import Ledger

SPACE = SearchSpace.of(
    {
        "lr": {"log10_uniform": [-5, -2]},
        "p": {"uniform": [0.5, 0.9]},
        "k": {"choice": [1, "two", True]},
        "n": {"integers": [1, 3]},
        "other": {"tied_to": "lr", "times": 2},
    },
    "here",
)
DRAWS = SPACE.draws(5, seed=0)


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.sqlite3'}"


def trials(storage: str) -> list[optuna.trial.FrozenTrial]:
    return optuna.load_study(study_name="mine", storage=storage).get_trials()


def test_draws_are_put_in_once_and_in_order(storage: str) -> None:
    for number in (2, 5, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Ledger(storage, "mine", SPACE).enqueue(DRAWS[:number])
    found = trials(storage)
    assert [trial.user_attrs["draw"] for trial in found] == [0, 1, 2, 3, 4]
    assert [trial.params for trial in found] == [{name: draw[name] for name in SPACE.free} for draw in DRAWS]
    assert {trial.state.name for trial in found} == {"WAITING"}


def test_a_driver_that_is_killed_while_putting_them_in(storage: str) -> None:
    script = f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_ledger import DRAWS, SPACE
        from wilds_targeted.experiments.sweep.ledger import Ledger
        ledger = Ledger({storage!r}, "mine", SPACE)
        add = ledger._study.add_trial
        def add_two(trial):
            if trial.user_attrs["draw"] == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            add(trial)
        ledger._study.add_trial = add_two
        ledger.enqueue(DRAWS)
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script)])
    assert killed.returncode == -signal.SIGKILL
    assert len(trials(storage)) == 2
    Ledger(storage, "mine", SPACE).enqueue(DRAWS)
    assert [trial.user_attrs["draw"] for trial in trials(storage)] == [0, 1, 2, 3, 4]


def test_what_is_told_stands_and_a_failed_draw_can_be_tried_again(storage: str) -> None:
    ledger = Ledger(storage, "mine", SPACE)
    ledger.enqueue(DRAWS)
    ledger.begin(0)
    ledger.begin(1)
    ledger.complete(1, 0.25)
    ledger.complete(1, 0.99)  # told already
    ledger.fail(0)
    ledger = Ledger(storage, "mine", SPACE)
    ledger.enqueue(DRAWS)
    ledger.begin(0)
    ledger.complete(0, 0.5)
    ledger.complete(2, 0.75)  # another driver had begun it
    found = [(trial.user_attrs["draw"], trial.state.name, trial.value) for trial in trials(storage)]
    assert found == [
        (0, "FAIL", None),
        (1, "COMPLETE", 0.25),
        (2, "COMPLETE", 0.75),
        (3, "WAITING", None),
        (4, "WAITING", None),
        (0, "COMPLETE", 0.5),
    ]
    assert optuna.load_study(study_name="mine", storage=storage).best_params["lr"] == DRAWS[2]["lr"]


def test_a_study_of_other_draws_is_refused(storage: str) -> None:
    Ledger(storage, "mine", SPACE).enqueue(DRAWS)
    with pytest.raises(DataError, match=r"the ledger's draw 0 is .* belongs to another search"):
        Ledger(storage, "mine", SPACE).enqueue(SPACE.draws(5, seed=1))


def test_a_storage_that_is_none() -> None:
    with pytest.raises(RunError, match=r"the ledger nonsense://x can't be read or written: Can't load plugin: "):
        Ledger("nonsense://x", "mine", SPACE)


def test_a_storage_that_breaks_later_is_told_in_one_line(storage: str) -> None:
    """As when its disk is full."""
    ledger = Ledger(storage, "mine", SPACE)
    ledger.enqueue(DRAWS)
    with sqlite3.connect(storage.removeprefix("sqlite:///")) as file:
        file.execute("DROP TABLE trial_values")
    with pytest.raises(
        RunError, match=r"can't be read or written: .*no such table: trial_values\. No run is lost"
    ) as told:
        ledger.complete(0, 0.5)
    assert "\n" not in str(told.value)
    assert "SQL:" not in str(told.value)
