"""Running simulations: kept results, any number of processes, kills, other options."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from wilds_targeted.errors import ConfigError, DataError, RunError
from wilds_targeted.theory.experiment import Plan, Result, Unit, read_results, run, simulate, summarize
from wilds_targeted.theory.setting import LinearSetting

TINY = Plan(
    setting=LinearSetting(p_obj=1, p_noise=3, p_robust=2, p_spurious=4),
    sample_sizes=(50, 200),
    domain_counts=(3, 8),
    seeds=3,
    validation=40,
    test=40,
    ood_domains=10,
    ood_test=40,
    penalties=(1e-3, 1e-1),
)


def test_the_defaults_are_those_of_the_papers_figure() -> None:
    plan = Plan()
    assert (plan.sample_sizes, plan.seeds, plan.copies, plan.ood_domains) == ((100_000, 5_000), 10, 5, 1_000)
    assert plan.setting == LinearSetting()
    # The paper leaves these open.
    assert plan.domain_counts == (5, 10, 25, 50, 100, 200, 400, 800, 1600)
    assert plan.validation == plan.test == plan.ood_test == 10_000
    assert len(plan.units) == 180


def test_the_numbers_depend_on_the_unit_alone(tmp_path: Path) -> None:
    one = run(TINY, tmp_path / "one", jobs=1, progress=False)
    two = run(TINY, tmp_path / "two", jobs=2, progress=False)
    assert one == two
    assert len(one) == 2 * 2 * 3 * 4
    assert [each for each in one if each.unit == Unit(50, 8, 2)] == simulate(TINY, Unit(50, 8, 2))
    assert read_results(tmp_path / "one" / "results.csv") == one
    # In the order of the figure: most examples first, then domains, seeds and augmentations.
    assert [(each.samples, each.domains, each.seed) for each in one[::4]] == [
        (samples, domains, seed) for samples in (200, 50) for domains in (3, 8) for seed in range(3)
    ]


def test_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(TINY, tmp_path, jobs=1, progress=False)
    lines = (tmp_path / "results.csv").read_text().splitlines(keepends=True)
    marked = lines[1].rpartition(",")[0] + ",0.5\n"  # would be another number if it were drawn again
    kept = [line for line in lines[2:] if not line.startswith("50,8,2,")]
    (tmp_path / "results.csv").write_text("".join([lines[0], marked, *kept]))
    second = run(TINY, tmp_path, jobs=1, progress=False)
    assert second[0].ood_rmse == 0.5
    assert second[1:] == first[1:]


def test_other_options_are_refused(tmp_path: Path) -> None:
    run(TINY, tmp_path, jobs=1, progress=False)
    before = (tmp_path / "results.csv").read_bytes()
    other = Plan(setting=LinearSetting(p_robust=3), sample_sizes=(50,), domain_counts=(3,))
    with pytest.raises(ConfigError, match="has results of other options"):
        run(other, tmp_path, jobs=1, progress=False)
    assert (tmp_path / "results.csv").read_bytes() == before


def test_what_the_memory_cannot_hold_is_told_in_one_line(tmp_path: Path) -> None:
    large = Plan(setting=LinearSetting(p_robust=10**12), sample_sizes=(50,), domain_counts=(3,))
    with pytest.raises(RunError, match=r"the memory does not do: .*\. Try fewer --jobs, or smaller numbers") as caught:
        run(large, tmp_path, jobs=1, progress=False)
    assert "\n" not in str(caught.value)
    # A plan without results is in nobody's way.
    run(replace(TINY, seeds=1), tmp_path, jobs=1, progress=False)


@pytest.mark.parametrize("text", ["nonsense\n1\n", "samples,domains\n5,x\n", "samples,domains,seed\n1,2,3\n"])
def test_a_table_of_something_else_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(text)
    with pytest.raises(DataError, match=r"results\.csv: is no table of simulation results"):
        run(TINY, tmp_path, jobs=1, progress=False)


def test_a_driver_killed_in_the_middle_goes_on(tmp_path: Path) -> None:
    expected = run(TINY, tmp_path / "undisturbed", jobs=1, progress=False)
    folder = tmp_path / "killed"
    code = f"""
if __name__ == "__main__":
    import sys, time
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from test_experiment import TINY, slow_down
    from pathlib import Path
    from wilds_targeted.theory import experiment
    experiment.SECONDS_BETWEEN_SAVES = 0.0
    slow_down(experiment)
    experiment.run(TINY, Path({str(folder)!r}), jobs=1, progress=False)
"""
    (tmp_path / "driver.py").write_text(code)
    with subprocess.Popen([sys.executable, str(tmp_path / "driver.py")], start_new_session=True) as driver:
        deadline = time.monotonic() + 60
        while not (folder / "results.csv").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        driver.kill()
        driver.wait()
        assert driver.returncode == -signal.SIGKILL
        while _group_lives(driver.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not _group_lives(driver.pid), "a process of the pool outlives its driver"
    saved = read_results(folder / "results.csv")
    assert 0 < len(saved) < len(expected)
    assert run(TINY, folder, jobs=1, progress=False) == expected


def slow_down(experiment: object) -> None:
    """Let the driver take its time between results."""
    original = experiment._save_results  # type: ignore[attr-defined]

    def save(*arguments: object) -> None:
        original(*arguments)
        time.sleep(0.3)

    experiment._save_results = save  # type: ignore[attr-defined]


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_means_and_standard_errors_by_hand() -> None:
    results = [Result(50, 3, seed, "targeted", 0.1, 1.0 + seed, 2.0) for seed in range(3)]
    (point,) = summarize(results)
    assert (point.id_rmse, point.ood_rmse, point.ood_error) == (2.0, 2.0, 0.0)
    assert point.id_error == pytest.approx(1 / 3**0.5)
    assert summarize(results[:1])[0].id_error is None


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"seeds": 0}, "seeds is 0: a number of at least 1"),
        ({"domain_counts": ()}, r"domain_counts is \(\): different numbers above 0"),
        ({"domain_counts": (5, 5)}, r"domain_counts is \(5, 5\): different numbers"),
        ({"sample_sizes": (-1,)}, r"sample_sizes is \(-1,\)"),
    ],
)
def test_plans_that_make_no_sense(change: dict[str, object], line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        Plan(**change)  # type: ignore[arg-type]
