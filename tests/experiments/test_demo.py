"""The demo around its runs: which commands it starts, what it keeps, and what it says when something is wrong."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_demo import FakeDemo
from gone import assert_gone

from wilds_targeted.cli.demo import command
from wilds_targeted.errors import ConfigError, DataError, one_line
from wilds_targeted.experiments import demo as module
from wilds_targeted.experiments.demo import Outcome
from wilds_targeted.experiments.plan import load_plan
from wilds_targeted.experiments.processes import JobError, core_count
from wilds_targeted.registry import get_registry

METHODS = ["image_base", "randaugment", "copypaste_all", "copypaste_samey"]


@pytest.fixture
def demo(tmp_path: Path, miniature: Path) -> FakeDemo:
    fake = FakeDemo(tmp_path / "fake", tmp_path / "out demo")
    fake.folder.mkdir()
    shutil.copytree(miniature, fake.folder / "miniature")
    fake.behave()
    return fake


def test_the_plan_compares_methods_under_one_set_of_flags() -> None:
    plan = load_plan(world=5)
    assert [method.transform for method in plan.methods] == METHODS
    assert plan.seeds == (0, 1, 2)
    assert len(plan.runs) == 12
    assert plan.miniature_words[:6] == ("miniature", "iwildcam", "--root_dir", "data", "--seed", "5")
    # With what must differ taken out, all commands are one.
    common = set()
    for run in plan.runs:
        words = list(run.words)
        for flag in ("--transform", "--seed", "--log_dir"):
            del words[words.index(flag) : words.index(flag) + 2]
        common.add(tuple(words))
    assert len(common) == 1
    quick = load_plan(quick=True)
    assert quick.seeds == (0,)
    assert 0 < quick.epochs < plan.epochs
    assert [method for method in METHODS if method not in get_registry().transforms] == ["image_base"]


def test_what_the_plan_refuses() -> None:
    for seeds in ((), (1, 1), (-1,)):
        with pytest.raises(ConfigError, match="whole numbers from 0, each once"):
            load_plan(seeds=seeds)


def test_all_runs_are_done_and_scored(demo: FakeDemo, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = demo.run(seeds=(0, 2))
    calls = demo.calls()
    plan = load_plan(seeds=(0, 2))
    assert tuple(calls[0]["words"]) == plan.miniature_words
    assert {tuple(call["words"]) for call in calls[1:]} == {run.words for run in plan.runs}
    assert {call["threads"] for call in calls[1:]} == {str(max(1, core_count() // 2))}
    # 10 letters in image_base: ID 30 and 32 per cent, OOD 10 and 12
    first = outcome.rows[0]
    assert [score.in_domain for score in first.scores] == [0.30, 0.32]
    assert (str(first.in_domain), str(first.out_of_domain)) == ("31.0 (1.0)", "11.0 (1.0)")
    assert [row.kind for row in outcome.rows] == ["—", "generic", "domain-invariant", "targeted"]
    assert (demo.out / "runs" / "image_base-seed2" / "output.txt").read_text() == "training image_base\n"
    told = capsys.readouterr().err
    assert "[8/8]" in told
    assert "left" in told
    assert sorted(path.name for path in demo.out.iterdir()) == [
        "data",
        "index.html",
        "miniature.txt",
        "runs",
        "settings.json",
    ]


def test_a_second_call_repeats_nothing(demo: FakeDemo) -> None:
    before = demo.run()
    demo.forget_calls()
    (demo.out / "index.html").unlink()
    after = demo.run()
    assert demo.calls() == []
    assert (after.earlier, after.rows) == (4, before.rows)
    assert (demo.out / "index.html").exists()


def test_after_a_failure_only_the_rest_is_done(demo: FakeDemo) -> None:
    demo.behave(**{"copypaste_samey-seed0": "fail"})
    with pytest.raises(JobError) as failure:
        demo.run(jobs=1)
    line = one_line(failure.value)
    output = demo.out / "runs" / "copypaste_samey-seed0" / "output.txt"
    assert line == (
        f"run copypaste_samey-seed0 ended with status 3; the end of {output}: "
        "Traceback (most recent call last): | File somewhere | ValueError: the <b>disk</b> is full"
    )
    assert not (demo.out / "index.html").exists()
    demo.behave()
    demo.forget_calls()
    assert demo.run().earlier == 3
    assert [call["words"][call["words"].index("--transform") + 1] for call in demo.calls()] == ["copypaste_samey"]


def test_a_failure_ends_the_other_runs(demo: FakeDemo) -> None:
    demo.behave(**{"image_base-seed0": "hang", "randaugment-seed0": "fail"})
    with pytest.raises(JobError, match="run randaugment-seed0 ended with status 3"):
        demo.run()
    assert_gone([call["pid"] for call in demo.calls()])


def test_a_run_without_scores_is_no_finished_run(demo: FakeDemo) -> None:
    demo.behave(**{"image_base-seed0": "silent"})
    with pytest.raises(OSError, match=r"val_eval\.csv"):
        demo.run(jobs=1)
    assert not (demo.out / "runs" / "image_base-seed0" / "finished.json").exists()


def test_other_settings_in_the_same_folder_are_refused(demo: FakeDemo) -> None:
    demo.run()
    page = (demo.out / "index.html").read_bytes()
    with pytest.raises(ConfigError) as refusal:
        demo.run(seeds=(0, 1))
    assert one_line(refusal.value) == (
        f"{demo.out} was begun with other settings (seeds 0 there, 0,1 now): choose another folder with --out, or "
        f"begin anew with `rm -r {shlex.quote(str(demo.out))}`."
    )
    plan = load_plan(seeds=(0,))
    with pytest.raises(ConfigError, match="flags"):
        demo.run(plan=replace(plan, flags=("--lr", "1")))
    with pytest.raises(ConfigError, match="world 0 there, 3 now"):
        demo.run(world=3)
    assert (demo.out / "index.html").read_bytes() == page


def test_a_folder_of_somebody_elses_is_left_alone(demo: FakeDemo) -> None:
    demo.out.mkdir()
    (demo.out / "index.html").write_text("mine")
    with pytest.raises(ConfigError, match="was not made by the demo: choose another folder with --out"):
        demo.run()
    (demo.out / "settings.json").write_text("mine")
    with pytest.raises(DataError, match="not the demo's own"):
        demo.run()
    assert (demo.out / "index.html").read_text() == "mine"
    assert demo.calls() == []


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name
)
def test_runs_end_with_the_demo(number: signal.Signals, demo: FakeDemo) -> None:
    if number == signal.SIGKILL and sys.platform != "linux":
        pytest.skip("only Linux tells children of a killed parent")
    # A process without torch and the pictures, which would take seconds: the part that starts the runs.
    script = f"""
        import sys
        from pathlib import Path
        from wilds_targeted.experiments.demo import train
        from wilds_targeted.experiments.plan import load_plan
        def command(words):
            return [*{demo.command(())!r}, *words]
        train(Path({str(demo.out)!r}), load_plan(seeds=(0,)), 2, command)
    """
    demo.out.mkdir()
    demo.behave(**{f"{method}-seed0": "hang" for method in METHODS})
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while len(demo.calls()) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        pids = [call["pid"] for call in demo.calls()]
        assert len(pids) == 2
        process.send_signal(number)
        process.wait(30)
    if number == signal.SIGTERM:
        assert process.returncode == 128 + signal.SIGTERM
    assert_gone(pids)


def test_the_command(demo: FakeDemo, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def run_demo(folder: Path, **options: object) -> Outcome:
        asked.update(options, folder=folder)
        return demo.run(seeds=options["seeds"])

    monkeypatch.setattr(module, "run_demo", run_demo)
    arguments = ["--out", "somewhere", "--world", "3", "--seeds", "4,5", "--jobs", "7", "--quick"]
    finished = CliRunner().invoke(command, arguments)
    assert finished.exit_code == 0, finished.output
    assert asked == {
        "folder": Path("somewhere"),
        "dataset": "iwildcam",
        "world": 3,
        "seeds": (4, 5),
        "jobs": 7,
        "quick": True,
    }
    assert "Copy-Paste (Same Y)           targeted           39.5 (0.5)    19.5 (0.5)" in finished.output
    assert f"The page: {demo.out / 'index.html'}" in finished.output
    wrong = CliRunner().invoke(command, ["--seeds", "one"])
    assert wrong.exit_code == 2
    assert "whole numbers with commas between" in wrong.output
