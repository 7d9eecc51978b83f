"""Drivers and workers that are killed: nothing is lost, nothing finished is repeated, nothing outlives its driver."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import optuna
import pytest
from fake_sweep import FakeSweep
from gone import assert_gone

from wilds_targeted.experiments.sweep.status import read_status
from wilds_targeted.experiments.sweep.sweep import search_of
from wilds_targeted.experiments.sweep.unit import read_result
from wilds_targeted.experiments.sweep.work import do_unit, task_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")

TABLES = ("results.csv", "runs.json", "choice.json")
PROGRAM = Path(__file__).with_name("fake_sweep.py")


def start(fake: FakeSweep, kind: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(fake.folder), str(fake.out), kind, "2"], stderr=subprocess.PIPE
    )


def was_killed(fake: FakeSweep, kind: str, calls: float, seconds: float = 0) -> bool:
    """Kill the driver when its runs have begun or ended so often, and so long after; its runs must end with it."""
    asked = len(all_calls(fake)) + calls
    with start(fake, kind) as driver:
        while driver.poll() is None and len(all_calls(fake)) < asked:
            time.sleep(0.01)
        time.sleep(seconds)
        driver.kill()
        driver.wait(10)
    assert_gone([call["pid"] for call in fake.calls("start")])
    assert driver.returncode in (0, -signal.SIGKILL)
    return driver.returncode != 0


def all_calls(fake: FakeSweep) -> list[dict[str, Any]]:
    return [*fake.calls("start"), *fake.calls("end")]


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.name in TABLES}


def assert_nothing_was_repeated(fake: FakeSweep) -> None:
    finished: set[str] = set()
    for call in sorted(all_calls(fake), key=lambda call: call["time"]):
        # Killed between its last word and its result, a unit is started again, and only then.
        if call["unit"] in finished:
            (folder,) = fake.out.rglob(call["unit"])
            result = read_result(folder)
            assert result is not None
            assert result.starts > 1
        if call["what"] == "end":
            finished.add(call["unit"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sweep", "reproduce"])
def test_a_driver_killed_again_and_again_ends_with_the_same_tables(kind: str, tmp_path: Path) -> None:
    undisturbed = FakeSweep(tmp_path / "undisturbed", tmp_path / "undisturbed-out").prepare()
    getattr(undisturbed, kind)()
    fake = FakeSweep(tmp_path / "fake", tmp_path / "out").prepare(seconds=0.1)
    moments = random.Random(kind)
    # The first while it begins; of the sixteen calls or more, some are still to come at least for two others.
    kills = [was_killed(fake, kind, calls, moments.uniform(0, 0.15)) for calls in (0, 1, 3, 2, 3)]
    assert sum(kills) >= 3
    assert not was_killed(fake, kind, math.inf)
    assert tables(fake.out) == tables(undisturbed.out)
    assert_nothing_was_repeated(fake)
    (ledger,) = fake.out.rglob("ledger.sqlite3")
    (summary,) = optuna.get_all_study_summaries(f"sqlite:///{ledger}")
    trials = optuna.load_study(study_name=summary.study_name, storage=f"sqlite:///{ledger}").get_trials()
    assert [trial.user_attrs["draw"] for trial in trials] == [0, 1, 2, 3]
    assert {trial.state.name for trial in trials} == {"COMPLETE"}


def test_a_finished_unit_is_not_started_again_whenever_its_driver_dies(tmp_path: Path) -> None:
    """The result stands before the driver hears of it."""
    fake = FakeSweep(tmp_path / "fake", tmp_path / "out").prepare(draw01_seed0="hang", draw01_seed1="hang")
    with start(fake, "sweep") as driver:
        wait_for(lambda: len(list(fake.out.glob("units/draw00-*/result.json"))) == 2)
        (status,) = read_status(fake.out)
        assert status.is_driven
        wait_for(lambda: len(read_status(fake.out)[0].running) == 2)
        driver.kill()
    assert_gone([call["pid"] for call in fake.calls("start")])
    (status,) = read_status(fake.out)
    assert (status.done, status.running, status.left, status.is_driven) == (2, (), 6, False)
    fake.prepare().sweep()
    assert len([call for call in fake.calls("start") if call["unit"].startswith("draw00")]) == 2
    assert len(fake.calls("end")) == 8


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_runs_end_with_a_driver_that_is_asked_to_end(number: signal.Signals, tmp_path: Path) -> None:
    fake = FakeSweep(tmp_path / "fake", tmp_path / "out").prepare(draw00_seed0="hang", draw00_seed1="hang")
    with start(fake, "sweep") as driver:
        wait_for(lambda: len(fake.calls("start")) == 2)
        driver.send_signal(number)
        try:
            driver.wait(20)
        finally:
            driver.kill()
    assert driver.returncode == (128 + number if number == signal.SIGTERM else -number)
    assert_gone([call["pid"] for call in fake.calls("start")])
    assert not list(fake.out.glob("units/*/failure.json"))


def test_a_killed_worker_is_tried_again(tmp_path: Path) -> None:
    fake = FakeSweep(tmp_path / "fake", tmp_path / "out").prepare(draw00_seed1="hang once")
    with start(fake, "sweep") as driver:
        wait_for(lambda: any(call["unit"].startswith("draw00-seed1") for call in fake.calls("start")))
        (victim,) = (call for call in fake.calls("start") if call["unit"].startswith("draw00-seed1"))
        os.kill(victim["pid"], signal.SIGKILL)
        _, told = driver.communicate(timeout=60)
    assert driver.returncode == 0
    assert f"{victim['unit']} failed and is tried again: unit {victim['unit']} was killed by signal 9" in told.decode()
    assert [call["unit"] for call in fake.calls("start")].count(victim["unit"]) == 2
    assert (read_status(fake.out)[0].done, read_status(fake.out)[0].failed) == (8, {})


def test_two_processes_at_one_unit_do_it_once(tmp_path: Path) -> None:
    """As when a cluster's job outlived its driver, and the next driver submits it again."""
    fake = FakeSweep(tmp_path / "fake", tmp_path / "out").prepare(seconds=0.2)
    unit = search_of(fake.protocol().recipe).units[0]
    params = task_of(unit, fake.out, Path("data"), "builtin", "acc_avg", ("id_test", "test")).params()
    both = [subprocess.Popen(fake.command(["sweep", "unit", json.dumps(params)])) for _ in range(2)]
    assert [process.wait(30) for process in both] == [0, 0]
    assert len(fake.calls("start")) == 1
    do_unit(params)  # the real training; it would fail, and is not begun
    result = read_result(fake.out / unit.place)
    assert result is not None
    assert result.starts == 1


def wait_for(condition: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
