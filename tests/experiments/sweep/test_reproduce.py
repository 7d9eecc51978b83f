"""The protocol around its runs: stages, the choice that stands, the row, the plan."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_sweep import FakeSweep
from fake_unit import scores

from wilds_targeted.cli.reproduce import command
from wilds_targeted.errors import ConfigError, RunError, UnknownNameError
from wilds_targeted.experiments.planning import plan_lines
from wilds_targeted.experiments.protocol import Protocol, find_recipes
from wilds_targeted.experiments.recipes import get_recipe, load_recipes
from wilds_targeted.experiments.runs import find_runs
from wilds_targeted.experiments.sweep.cost import cost_lines, cost_of
from wilds_targeted.experiments.sweep.unit import Result, write_outcome


@pytest.fixture
def fake(tmp_path: Path) -> FakeSweep:
    return FakeSweep(tmp_path / "fake", tmp_path / "out").prepare()


def test_tuning_choice_and_final_seeds(fake: FakeSweep) -> None:
    outcome = fake.reproduce()
    folder = fake.out / "iwildcam" / "mine"
    assert outcome.folder == folder
    rates = [draw.values["lr"] for draw in outcome.draws]
    best = min(range(4), key=lambda number: abs(rates[number] - 0.001))
    assert outcome.chosen == json.loads((folder / "choice.json").read_text())["draw"] == best
    # Of the chosen draw, seeds 0 and 1 were trained while tuning.
    assert len(fake.calls("start")) == 4 * 2 + 1
    runs = find_runs([fake.out])
    assert [run.seed for run in runs] == [0, 1, 2]
    assert {run.path.name.partition("-")[0] for run in runs} == {f"draw{best:02d}"}
    of_test = [scores(rates[best], seed, 1)["test"] for seed in (0, 1, 2)]
    estimate = outcome.estimates["test", "acc_avg"]
    assert estimate.mean == pytest.approx(sum(of_test) / 3)
    # Scores are 0.005 apart: a deviation of 0.005, over the root of three.
    assert estimate.error == pytest.approx(0.005 / 3**0.5)
    row = str(outcome).splitlines()
    assert row[0] == "My Method (iwildcam/mine), per cent, mean over 3 seeds (standard error)"
    assert row[-1].split() == ["test", "acc_avg", *str(estimate).split(), "50.0", "(0.5)"]


def test_the_authors_values_need_no_tuning(fake: FakeSweep) -> None:
    outcome = fake.reproduce({"tuned": True, "seeds": (0, 4)})
    assert [call["words"][call["words"].index("--lr") + 1] for call in fake.calls("start")] == ["0.001"] * 2
    assert sorted(run.seed for run in find_runs([fake.out])) == [0, 4]
    assert outcome.estimates["id_test", "acc_avg"].mean == pytest.approx(1.01 - 0.02)
    with pytest.raises(ConfigError, match="begun with other settings"):
        fake.reproduce()


def test_the_choice_stands_and_is_made_anew_among_more(fake: FakeSweep) -> None:
    fake.prepare(draw00_seed0="fail")
    first = fake.reproduce({"n_draws": 3}, retries=0)
    starts = len(fake.calls("start"))
    fake.prepare()
    assert fake.reproduce({"n_draws": 3}).chosen == first.chosen
    # What failed while tuning is not tried again once the choice is made.
    assert len(fake.calls("start")) == starts
    more = fake.reproduce({"n_draws": 4})
    assert all(draw.is_complete for draw in more.draws)
    assert json.loads((more.folder / "choice.json").read_text())["of_draws"] == 4


def test_failed_final_runs_are_told(fake: FakeSweep) -> None:
    outcome = fake.prepare(tuned_seed1="fail").reproduce({"tuned": True}, retries=0)
    assert "mean over 2 OF 3 seeds" in str(outcome)
    assert [name.rpartition("-")[0] for name in outcome.failures] == ["tuned-seed1"]
    assert json.loads((outcome.folder / "runs.json").read_text())["failed"] == [
        {"unit": next(iter(outcome.failures)), "seed": 1}
    ]


def test_without_a_complete_draw_there_is_no_choice(fake: FakeSweep) -> None:
    fake.prepare(draw00_seed0="fail")
    with pytest.raises(RunError, match="of 1 draws none has all of its runs"):
        fake.reproduce({"n_draws": 1}, retries=0)
    assert fake.reproduce({"n_draws": 1}, retries=0, accept_incomplete=True).chosen == 0


def test_the_plan_has_every_command_and_runs_nothing(fake: FakeSweep) -> None:
    protocol = fake.protocol()
    lines = plan_lines(protocol, fake.out, fake.conduct(), 2, 10.0)
    commands = [shlex.split(line) for line in lines if not line.startswith("#")]
    assert len(commands) == 8 + 3
    assert all(words[:4] == ["wilds-targeted", "run", "--runner", "builtin"] for words in commands)
    assert [words[words.index("--lr") + 1] for words in commands[8:]] == ["CHOSEN_lr"] * 3
    assert not fake.out.exists()
    # Nine runs of three epochs, each of 100 images to train on and 10 + 20 + 30 + 40 to evaluate: 9 * 400 / 10 seconds.
    assert lines[1] == "# 9 runs of 3 epochs: 2,700 images to train on and 2,700 to evaluate"
    assert (
        "at 10 training images a second (as given), evaluation 3 times as fast: 6 min 0 s of computing, 3 min"
        in lines[2]
    )
    assert "an assumption, not a measurement" in plan_lines(protocol, fake.out, fake.conduct(), 2, None)[2]
    # The commands are those that are run.
    fake.reproduce()
    ran = {tuple(call["words"]) for call in fake.calls("start")}
    planned = [shlex.split(line) for line in plan_lines(protocol, fake.out, fake.conduct(), 2, None) if line[0] != "#"]
    assert {tuple(absolute(words[1:])) for words in planned} == ran
    assert "as long as the finished runs here took: 0 s" in "\n".join(
        plan_lines(protocol, fake.out, fake.conduct(), 2, None)
    )


def test_what_is_done_tells_what_is_left(fake: FakeSweep) -> None:
    protocol, folder = fake.protocol(), fake.out / "iwildcam" / "mine"
    units = protocol.tuning_units
    for unit, seconds, starts in zip(units, (20.0, 40.0, 1.0), (1, 1, 2), strict=False):
        write_outcome(folder / unit.place, Result(1, 0.5, 0.5, 0.5, seconds, starts, []))
    # Eight runs and one later, of which three are done; the third was interrupted, so its time is not its own.
    assert cost_lines(protocol.recipe, units, protocol.later, folder, None, 2)[1:] == [
        "3 runs are done already",
        "as long as the finished runs here took: 3 min 0 s of computing, 1 min 30 s with 2 at a time",
    ]


def absolute(words: list[str]) -> list[str]:
    """With the folder of the data as the driver gives it."""
    place = words.index("--root_dir") + 1
    return [*words[:place], str(Path(words[place]).absolute()), *words[place + 1 :]]


def test_evaluating_fewer_splits_costs_less(fake: FakeSweep) -> None:
    recipe = fake.protocol().recipe
    assert cost_of(recipe).evaluation == 3 * 100
    flags = (*recipe.flags, "--evaluate_all_splits", "false", "--eval_splits", "id_test", "test")
    assert cost_of(replace(recipe, flags=flags)).evaluation == 3 * (30 + 20 + 40)


def test_every_recipe_has_its_protocol() -> None:
    for name, recipe in load_recipes().items():
        protocol = Protocol.of(recipe)
        n_units = len(protocol.tuning_units)
        assert n_units == len(set(protocol.tuning_units)), name
        assert (n_units == 0) == (recipe.n_draws == 0)
        assert n_units + protocol.later == recipe.n_runs, name
        assert len(protocol.final_units(0 if n_units else None)) == len(recipe.final_seeds)
        assert Protocol.of(recipe, miniature=True).miniature[:2] == ("miniature", recipe.dataset)
    paste = Protocol.of(get_recipe("iwildcam/copypaste_samey"), tuned=True)
    assert [unit.seed for unit in paste.final_units(None)] == [0, 1, 2, 3, 4]
    assert "3.490455181206744e-05" in paste.final_units(None)[0].flags


def test_names_and_patterns() -> None:
    assert [recipe.name for recipe in find_recipes(["camelyon17/m*", "camelyon17/mixup"])] == ["camelyon17/mixup"]
    with pytest.raises(UnknownNameError, match="no recipe matches 'zebra/"):
        find_recipes(["zebra/*"])


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["iwildcam/unaugmented", "--out", "x"], 2, "give --root_dir, or --miniature"),
        (["iwildcam/unaugmented", "--out", "x", "--root_dir", "y", "--miniature"], 2, "leave out --root_dir"),
        (["iwildcam/mixup", "--out", "x", "--root_dir", "y"], 2, "there is no folder y"),
        (
            ["iwildcam/mixup", "--out", "x", "--root_dir", "y", "--tuned", "--plan"],
            1,
            "no values for iwildcam/mixup: leave out",
        ),
        (["iwildcam/mixup", "--out", "x", "--miniature", "--tuned"], 1, "leave it or --miniature out"),
        (["iwildcam/mixup", "--out", "x", "--root_dir", "y", "--seeds", "1,1"], 2, "different whole numbers"),
    ],
)
def test_what_is_refused(words: list[str], status: int, message: str) -> None:
    finished = CliRunner().invoke(command, words)
    assert finished.exit_code == status, finished.output
    assert message in " ".join(finished.output.split())
