"""Sweeps around their runs: what is run, chosen, kept, retried, refused and told."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from click.testing import CliRunner
from fake_sweep import FakeSweep
from fake_unit import scores

from wilds_targeted.cli import sweep as module
from wilds_targeted.errors import ConfigError, DataError, RunError
from wilds_targeted.experiments.recipes import get_recipe
from wilds_targeted.experiments.runs import find_runs
from wilds_targeted.experiments.sweep.choice import DrawScores, choose
from wilds_targeted.experiments.sweep.records import draws_table
from wilds_targeted.experiments.sweep.search import study_name
from wilds_targeted.experiments.sweep.status import read_status
from wilds_targeted.experiments.sweep.sweep import SweepOutcome, search_of
from wilds_targeted.experiments.sweep.unit import Result, Unit
from wilds_targeted.files import locked


@pytest.fixture
def fake(tmp_path: Path) -> FakeSweep:
    return FakeSweep(tmp_path / "fake", tmp_path / "out sweep").prepare()


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def trials(fake: FakeSweep, outcome: SweepOutcome) -> list[optuna.trial.FrozenTrial]:
    name = study_name(outcome.search, fake.out)
    return optuna.load_study(study_name=name, storage=f"sqlite:///{fake.ledger}").get_trials()


def test_every_draw_with_every_seed_and_the_best_on_validation(fake: FakeSweep) -> None:
    outcome = fake.sweep()
    assert len(fake.calls("start")) == len(fake.calls("end")) == 8
    rates = [draw.values["lr"] for draw in outcome.draws]
    # By hand: the mean over seeds 0 and 1 in epoch 1, where validation is best.
    assert [draw.val for draw in outcome.draws] == pytest.approx(
        [(scores(lr, 0, 1)["val"] + scores(lr, 1, 1)["val"]) / 2 for lr in rates]
    )
    best = min(range(4), key=lambda number: abs(rates[number] - 0.001))
    assert outcome.chosen is not None
    assert outcome.chosen.number == best
    table = rows(fake.out)
    assert [(row["draw"], row["seed"]) for row in table] == [
        (str(draw), str(seed)) for draw in range(4) for seed in (0, 1)
    ]
    assert float(table[2 * best]["test acc_avg"]) == scores(rates[best], 0, 1)["test"]
    assert [run.path.name for run in find_runs([fake.out])] == [
        Path(row["run"]).name for row in table if row["draw"] == str(best)
    ]
    told = draws_table(outcome.search.recipe, outcome.draws, best)
    assert told.splitlines()[1 + best].startswith("*")
    assert [trial.value for trial in trials(fake, outcome)] == [draw.val for draw in outcome.draws]


def test_a_second_call_repeats_nothing_and_more_can_be_asked_for(fake: FakeSweep) -> None:
    fake.sweep(n_draws=2)
    before = (fake.out / "results.csv").read_bytes()
    fake.sweep(n_draws=2)
    assert len(fake.calls("start")) == 4
    assert (fake.out / "results.csv").read_bytes() == before
    fake.sweep(n_draws=3, seeds=(0, 1, 2))
    assert len(fake.calls("start")) == 9


def test_a_unit_is_known_by_what_decides_about_its_numbers() -> None:
    unit = Unit("mine", "draw00", ("--lr", "1", "--a", "x", "y"), 0)
    assert [unit.epochs, replace(unit, flags=("--n_epochs", "7")).epochs] == [1, 7]
    assert [replace(unit, flags=("--n_epochs", *words)).epochs for words in (("ten",), (), ("0",))] == [1, 1, 1]
    assert unit.key.startswith("draw00-seed0-")

    def code(unit: Unit) -> str:
        return unit.key.rpartition("-")[2]

    assert code(Unit("mine", "other label", ("--a", "x", "y", "--lr=1"), 0)) == code(unit)
    others = [
        Unit("yours", "draw00", unit.flags, 0),
        Unit("mine", "draw00", unit.flags, 1),
        Unit("mine", "draw00", ("--lr", "2", "--a", "x", "y"), 0),
        Unit("mine", "draw00", ("--lr", "1", "--a", "y", "x"), 0),
    ]
    assert len({code(each) for each in [unit, *others]}) == 5


def test_a_file_is_the_same_from_wherever_it_is_read(fake: FakeSweep, monkeypatch: pytest.MonkeyPatch) -> None:
    far = search_of(get_recipe(str(fake.folder / "mine.toml")))
    monkeypatch.chdir(fake.folder)
    near = search_of(get_recipe("mine.toml"))
    assert near.settings == far.settings
    assert [unit.key for unit in near.units] == [unit.key for unit in far.units]


def test_a_draw_that_comes_twice_is_trained_once(fake: FakeSweep) -> None:
    text = (fake.folder / "mine.toml").read_text().replace("{ log10_uniform = [-4, -2] }", "{ choice = [0.001, 0.01] }")
    (fake.folder / "mine.toml").write_text(text)
    outcome = fake.sweep(n_draws=6, seeds=(0,))
    assert len(fake.calls("start")) == 2
    assert len(rows(fake.out)) == 6
    values = [draw.values["lr"] for draw in outcome.draws]
    assert outcome.chosen is not None
    assert outcome.chosen.number == values.index(0.001)


@pytest.mark.parametrize("what", ["fail once", "die once"])
def test_what_fails_is_tried_again(what: str, fake: FakeSweep, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = fake.prepare(draw01_seed0=what).sweep(n_draws=2, in_processes=True)
    assert outcome.failures == {}
    assert len(fake.calls("start")) == 5
    again = "was killed by signal 9" if what == "die once" else "ended with status 1"
    assert " failed and is tried again: unit draw01-seed0-" in (told := capsys.readouterr().err)
    assert again in told


def test_what_fails_for_good_is_listed_and_in_no_mean(fake: FakeSweep) -> None:
    best = fake.sweep(seeds=(0,)).chosen
    assert best is not None
    name = f"draw{best.number:02d}-seed1"
    outcome = fake.prepare(**{name: "fail"}).sweep(retries=2)
    (failure,) = outcome.failures.values()
    assert failure.attempts == 3
    assert failure.message == "the disk is full"
    assert sum(call["unit"].startswith(name) for call in fake.calls("start")) == 3
    # It would be the best, but for the run that is missing.
    assert outcome.chosen is not None
    assert outcome.chosen.number != best.number
    assert outcome.draws[best.number].estimate("val").endswith(" of 1/2")
    assert [row["failure"] for row in rows(fake.out) if row["failure"]] == [failure.message]
    assert sorted(trial.state.name for trial in trials(fake, outcome)) == [*["COMPLETE"] * 3, "FAIL"]
    (status,) = read_status(fake.out)
    assert status.failed == outcome.failures
    assert f"failed: {next(iter(outcome.failures))}: the disk is full" in str(status)
    accepted = fake.sweep(accept_incomplete=True, retries=0).chosen
    assert accepted is not None
    assert accepted.number == best.number
    mended = fake.prepare().sweep()
    assert mended.failures == {}
    assert [trial.state.name for trial in trials(fake, mended)].count("COMPLETE") == 4
    assert mended.chosen is not None
    assert mended.chosen.number == best.number


def test_where_all_fail_there_is_no_choice(fake: FakeSweep) -> None:
    outcome = fake.prepare(draw00_seed0="fail", draw01_seed0="fail").sweep(n_draws=2, seeds=(0,), retries=0)
    assert outcome.chosen is None
    assert "failed" in draws_table(outcome.search.recipe, outcome.draws, None)
    with pytest.raises(DataError, match="lists no finished run"):
        find_runs([fake.out])


def test_the_choice_is_by_the_mean_on_validation_and_nothing_else() -> None:
    def draw(number: int, *scores: tuple[float, float]) -> DrawScores:
        results = {
            seed: Result(0, val, other, other, seconds=1.0, starts=1, versions=[])
            for seed, (val, other) in enumerate(scores)
        }
        return DrawScores(number, {}, results, failed=())

    draws = [draw(0, (0.5, 0.9), (0.5, 0.9)), draw(1, (0.7, 0.1), (0.4, 0.1)), draw(2, (0.4, 0.5), (0.7, 0.5))]
    best = choose(draws)
    assert best is draws[1]  # 0.55 on validation, as draw 2 has it, which comes later
    assert best.val == pytest.approx(0.55)


def test_a_score_that_is_no_number_is_a_failure(fake: FakeSweep) -> None:
    outcome = fake.prepare(draw00_seed0="nan").sweep(n_draws=2, seeds=(0,), retries=0)
    (failure,) = outcome.failures.values()
    assert failure.message.endswith("test_eval.csv: acc_avg is nan in the selected epoch 1")
    assert outcome.chosen is not None
    assert outcome.chosen.number == 1


def test_sweeps_in_one_storage_have_studies_of_their_own(fake: FakeSweep, tmp_path: Path) -> None:
    """Each has one driver that writes."""
    other = FakeSweep(tmp_path / "other", tmp_path / "other out").prepare(draw00_seed0="fail")
    mine = fake.sweep(n_draws=1, seeds=(0,))
    other.sweep(n_draws=1, seeds=(0,), retries=0, storage=f"sqlite:///{fake.ledger}")
    assert [trial.state.name for trial in trials(fake, mine)] == ["COMPLETE"]
    assert len(optuna.get_all_study_names(f"sqlite:///{fake.ledger}")) == 2


def test_gpus_are_handed_out_one_a_run(fake: FakeSweep) -> None:
    fake.prepare(seconds=0.02).sweep(n_draws=2, gpus=("3", "7"), in_processes=True)
    assert {call["gpus"] for call in fake.calls("start")} == {"3", "7"}
    busy: set[str] = set()
    for call in sorted([*fake.calls("start"), *fake.calls("end")], key=lambda call: call["time"]):
        if call["what"] == "start":
            assert call["gpus"] not in busy
            busy.add(call["gpus"])
        else:
            busy.remove(call["gpus"])


def test_what_is_refused(fake: FakeSweep) -> None:
    fake.sweep(n_draws=1)
    with pytest.raises(ConfigError, match=r"begun with other settings \(draw_seed 0 there, 1 now\)"):
        fake.sweep(draw_seed=1)
    with pytest.raises(ConfigError, match="runner builtin there, wilds now"):
        fake.sweep(runner="wilds")
    with locked(fake.out), pytest.raises(RunError, match="another run is writing there"):
        fake.sweep()
    (result,) = fake.out.glob("units/draw00-seed1-*/result.json")
    whole = json.loads(result.read_text())
    result.write_text("{")
    with pytest.raises(DataError, match=r"result.json can't be read .*: remove it, and give the same command again"):
        fake.sweep(n_draws=1)
    for broken in ({}, {**whole, "val": float("nan")}, {**whole, "seconds": "long"}):
        result.write_text(json.dumps(broken))
        with pytest.raises(DataError, match=r"result.json is not what a unit writes"):
            read_status(fake.out)
    result.unlink()
    assert fake.sweep(n_draws=1).failures == {}
    with pytest.raises(DataError, match="holds no sweep"):
        read_status(fake.folder)


def test_the_status_command(fake: FakeSweep) -> None:
    fake.sweep(n_draws=2)
    (result,) = fake.out.glob("units/draw01-seed1-*/result.json")
    result.unlink()
    shown = CliRunner().invoke(module.command, ["status", str(fake.out)])
    assert shown.exit_code == 0, shown.output
    assert "iwildcam/mine, tuning: 3 done, 0 running, 0 failed, 1 left" in shown.output
    assert "no driver is at work; go on with: again" in shown.output
    data = json.loads(CliRunner().invoke(module.command, ["status", str(fake.out), "--json"]).output)
    assert (data[0]["done"], data[0]["left"], data[0]["driver_at_work"]) == (3, 1, False)
    assert data[0]["seconds_left"] >= 0
