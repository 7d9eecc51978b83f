"""Runs in forks of a process that has torch: they fail clearly, and none outlives the demo."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from wilds_targeted.errors import RunError
from wilds_targeted.experiments import warm
from wilds_targeted.experiments.demo import run_demo
from wilds_targeted.experiments.plan import DATASETS, Plan, load_plan
from wilds_targeted.experiments.processes import JobError
from wilds_targeted.files import locked

SIZES = {
    "iwildcam": "--train-cameras 12 --val-cameras 3 --test-cameras 3 --images-per-camera 20 "
    "--images-per-unseen-camera 8 --size 48 36",
    "camelyon17": "--train-patches 20 --id-val-patches 2 --val-patches 20 --test-patches 20",
    "birdcalls": "--training-microphones 2 --unseen-microphones 1 --minutes-per-microphone 2 "
    "--minutes-per-unseen-microphone 1",
}


def small_plan(dataset: str = "iwildcam", epochs: int = 1, **changes: str) -> Plan:
    plan = load_plan(dataset, quick=True)
    flags = list(plan.flags)
    for name, value in {"n_epochs": str(epochs), **changes}.items():
        flags[flags.index(f"--{name}") + 1] = value
    return replace(plan, miniature=tuple(SIZES[dataset].split()), flags=tuple(flags))


@pytest.mark.slow
@pytest.mark.parametrize("dataset", DATASETS)
def test_the_whole_demo_on_the_smallest_world(dataset: str, tmp_path: Path) -> None:
    plan = small_plan(dataset, epochs=2)
    outcome = run_demo(tmp_path / "demo", plan=plan)
    assert [row.transform for row in outcome.rows] == [method.transform for method in plan.methods]
    assert all(0 <= score.out_of_domain <= 1 for row in outcome.rows for score in row.scores)
    text = outcome.page.read_text()
    assert all(str(row.out_of_domain) in text for row in outcome.rows)
    printed = (tmp_path / "demo" / "runs" / f"{plan.methods[-1].transform}-seed0" / "output.txt").read_text()
    assert "running the built-in runner" in printed
    assert run_demo(tmp_path / "demo", plan=plan).earlier == 4


@pytest.mark.slow
def test_a_run_that_fails_ends_the_demo_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(JobError) as caught:
        run_demo(tmp_path / "demo", plan=small_plan(model="miniature-cmn"))
    message = str(caught.value)
    assert "ended with status 1" in message
    assert "there is no model 'miniature-cmn' (did you mean 'miniature-cnn'?)" in message
    assert "\n" not in message


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_warm import run_demo, small_plan
if __name__ == "__main__":
    run_demo(Path({out!r}), plan=small_plan(epochs=10_000))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
def test_no_run_outlives_the_demo(kind: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(tests=str(Path(__file__).parent), out=str(tmp_path / "demo")))
    demo = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.DEVNULL)
    folder = tmp_path / "demo" / "runs" / "image_base-seed0"
    try:
        _wait_for(lambda: (folder / "val_eval.csv").is_file() and (folder / "val_eval.csv").stat().st_size > 0, 120)
        assert _is_running(folder)
    finally:
        demo.send_signal(kind)
        demo.wait(30)
    _wait_for(lambda: not _is_running(folder), 20)


def _is_running(folder: Path) -> bool:
    """A run holds the lock of its log folder as long as it lives."""
    try:
        with locked(folder):
            return False
    except RunError:
        return True


def _wait_for(condition: object, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


@pytest.mark.slow
def test_a_warm_call_returns_and_raises() -> None:
    assert warm.call(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        warm.call(divmod, 7, 0)


def test_ctrl_c_while_the_server_imports_is_told_by_nobody(tmp_path: Path) -> None:
    """A terminal sends it to the server, too."""
    (tmp_path / "slow_import.py").write_text(
        "print('importing', flush=True)\nimport time; time.sleep(1)\nprint('imported')"
    )
    script = (
        "import os, sys, time; from wilds_targeted.experiments import warm\n"
        "warm._PRELOADED[:] = ['slow_import']; warm.warm_up(); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        os.killpg(process.pid, signal.SIGINT)
        printed, told = process.communicate(timeout=30)
    assert printed == "imported\n"
    assert told.count("Traceback") == 1  # of the script, which was interrupted
    assert "slow_import" not in told
