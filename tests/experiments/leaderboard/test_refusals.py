"""Runs that break one rule each: the line that is said, and that nothing is written."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from made_runs import BEST_ON_TEST, Copy, make_run

from wilds_targeted.api import get_dataset
from wilds_targeted.cli.submit import command
from wilds_targeted.errors import ConfigError
from wilds_targeted.experiments.leaderboard.checks import SubmissionError, all_of_another_epoch
from wilds_targeted.experiments.leaderboard.rules import RULES, parse_seeds, rule_for, with_seeds
from wilds_targeted.experiments.leaderboard.scoring import epochs_that_score
from wilds_targeted.experiments.leaderboard.submission import submit
from wilds_targeted.experiments.runs import read_run

Break = Callable[[Path], None]
BROKEN: dict[str, tuple[Break, str]] = {}

pytestmark = pytest.mark.usefixtures("no_checkout")


def breaks(said: str) -> Callable[[Break], Break]:
    """What is done to the runs of seeds 0-9, and the one line that is said; {} is the folder that holds them."""

    def add(broken: Break) -> Break:
        BROKEN[broken.__name__] = broken, said
        return broken

    return add


def best(runs: Path, seed: int, split: str = "test", epoch: str | int = "best") -> Path:
    return runs / f"seed{seed}" / f"camelyon17_split:{split}_seed:{seed}_epoch:{epoch}_pred.csv"


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


@breaks(
    "seed 7 is missing: WILDS's leaderboard asks for seeds 0-9 of camelyon17, and there are 0-6, 8-9; train it with "
    "--seed 7"
)
def missing_seed(runs: Path) -> None:
    shutil.rmtree(runs / "seed7")


@breaks("seed 3 is there 2 times: {}/again, {}/seed3; leave all but one out")
def duplicate_seed(runs: Path) -> None:
    shutil.copytree(runs / "seed3", runs / "again")


@breaks("{}/seed2/camelyon17_split:id_val_seed:2_epoch:best_pred.csv is missing: every split but train needs")
def missing_split(runs: Path) -> None:
    best(runs, 2, "id_val").unlink()


@breaks("{}/seed5/camelyon17_split:test_seed:5_epoch:best_pred.csv is cut off: 19 lines, and the split has 20 examples")
def truncated_file(runs: Path) -> None:
    lines = best(runs, 5).read_text().splitlines()
    best(runs, 5).write_text("\n".join(lines[:-1]) + "\n")


@breaks("{}/seed5/camelyon17_split:test_seed:5_epoch:best_pred.csv has lines too many: 21 lines, and the split has 20")
def extra_line(runs: Path) -> None:
    with best(runs, 5).open("a") as file:
        file.write("0\n")


@breaks("{}/seed0/camelyon17_split:val_seed:0_epoch:best_pred.csv, line 1, is a header ('y_pred')")
def header(runs: Path) -> None:
    path = best(runs, 0, "val")
    path.write_text("y_pred\n" + path.read_text())


@breaks(
    "{}/seed1/camelyon17_split:test_seed:1_epoch:best_pred.csv, line 1: the label 2 is out of range, the classes are "
    "0 to 1"
)
def label_out_of_range(runs: Path) -> None:
    best(runs, 1).write_text("2" + best(runs, 1).read_text()[1:])


@breaks("{}/seed1/camelyon17_split:test_seed:1_epoch:best_pred.csv, line 1, is '0.75', not a whole number from 0")
def probabilities(runs: Path) -> None:
    best(runs, 1).write_text("0.75" + best(runs, 1).read_text()[1:])


@breaks("{}/seed8/camelyon17_split:val_seed:8_epoch:best_pred.csv, line 1, is no text but binary data")
def binary_garbage(runs: Path) -> None:
    best(runs, 8, "val").write_bytes(bytes(range(256)) * 20)


@breaks("{}/seed1 is the log folder of seed 1 and has predictions of 10, too: evaluate.py goes by how names begin")
def ambiguous_prefix(runs: Path) -> None:
    for path in (runs / "seed1").glob("*seed:1_*"):
        shutil.copy(path, path.with_name(path.name.replace("seed:1_", "seed:10_")))


@breaks(
    "{}/seed4 has 2 files of the best epoch's predictions for test: "
    "camelyon17_split:test_seed:4_epoch:best_pred (1).csv, camelyon17_split:test_seed:4_epoch:best_pred.csv; keep"
)
def two_files_of_a_split(runs: Path) -> None:
    shutil.copy(best(runs, 4), best(runs, 4).with_name("camelyon17_split:test_seed:4_epoch:best_pred (1).csv"))


@breaks(
    "all predictions of {}/seed6 are of epoch 0, and validation chooses epoch 1 (acc_avg 0.8000 on val): epochs are "
    "chosen on validation only; put that epoch's predictions there, or run it again"
)
def stale_best_epoch(runs: Path) -> None:
    for split in ("id_val", "test", "val"):
        shutil.copy(best(runs, 6, split, 0), best(runs, 6, split))


@breaks(
    "all predictions of {}/seed6 are of epoch 2, the best one on test, and validation chooses epoch 1 (acc_avg 0.8000 "
    "on val): epochs are chosen on validation only"
)
def epoch_chosen_on_test(runs: Path) -> None:
    for split in ("id_val", "test", "val"):
        shutil.copy(best(runs, 6, split, BEST_ON_TEST), best(runs, 6, split))


@breaks(
    "{}/seed6/camelyon17_split:test_seed:6_epoch:best_pred.csv holds the predictions of epoch 2, and validation "
    "chooses epoch 1: all splits must be of that one"
)
def another_epoch_for_one_split(runs: Path) -> None:
    shutil.copy(best(runs, 6, "test", BEST_ON_TEST), best(runs, 6))


@breaks(
    "{}/seed9/camelyon17_split:test_seed:9_epoch:best_pred.csv is of another run, or was changed: acc_avg is 0.6, and "
    "test_eval.csv says 0.6"
)
def predictions_of_another_run(runs: Path) -> None:
    shutil.copy(best(runs, 1), best(runs, 9))


@breaks(
    "{}/seed3 (seed 3) has other settings than most of the runs (lr 0.01 instead of 0.001): replicates may differ in "
    "their seeds only"
)
def mixed_settings(runs: Path) -> None:
    edit(runs / "seed3" / "log.txt", "\nLr: 0.001\n", "\nLr: 0.01\n")


@breaks("{}/seed3 went on with other settings than it began with (lr 0.01 instead of 0.001); run it anew")
def other_settings_after_resuming(runs: Path) -> None:
    log = runs / "seed3" / "log.txt"
    head = log.read_text().partition("\n\n")[0]
    log.write_text(f"{head}\n\n{head.replace('Lr: 0.001', 'Lr: 0.01')}\n\n")


@breaks("{}/seed0 was run with --frac 0.5, a part of each split: every example must be predicted")
def part_of_the_data(runs: Path) -> None:
    edit(runs / "seed0" / "log.txt", "\nFrac: 1.0\n", "\nFrac: 0.5\n")


@breaks("{}/seed0 was run with --split_scheme in-dist: results are compared on the official splits")
def another_split_scheme(runs: Path) -> None:
    edit(runs / "seed0" / "log.txt", "\nSplit scheme: official\n", "\nSplit scheme: in-dist\n")


@breaks("{}/seed0 was trained with --unlabeled_split test_unlabeled: only `train` may be trained on")
def more_training_data(runs: Path) -> None:
    edit(runs / "seed0" / "log.txt", "\nFrac: 1.0\n", "\nFrac: 1.0\nUnlabeled split: test_unlabeled\n")


@breaks("{}/seed0 was run with the diagnostic only_fg, which changes the images of the test set, too")
def a_diagnostic(runs: Path) -> None:
    edit(runs / "seed0" / "log.txt", "\nTransform: stain_color_jitter\n", "\nTransform: only_fg\n")


@breaks("{}/seed4 is unfinished: val_eval.csv has 2 of 3 epochs; let it go on with the same flags and --resume")
def unfinished_run(runs: Path) -> None:
    for path in (runs / "seed4").glob("*_eval.csv"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


@breaks("{}/seed4/test_eval.csv has no epoch 1, which validation chooses; evaluate every split in every epoch")
def a_split_that_was_not_evaluated(runs: Path) -> None:
    path = runs / "seed4" / "test_eval.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))


@breaks("{}/seed4/id_val_eval.csv is missing: the run has no metrics of that split")
def a_missing_table(runs: Path) -> None:
    (runs / "seed4" / "id_val_eval.csv").unlink()


@breaks("{}/seed4/val_eval.csv is cut off")
def a_table_that_is_cut_off(runs: Path) -> None:
    path = runs / "seed4" / "val_eval.csv"
    path.write_text(path.read_text()[:-30])


@pytest.mark.parametrize("name", BROKEN)
def test_each_fault_is_refused_for_its_own_reason(
    name: str, copy: Copy, camelyon_miniature: Path, tmp_path: Path
) -> None:
    runs = copy()
    fault, said = BROKEN[name]
    fault(runs)
    with pytest.raises(SubmissionError) as error:
        submit([runs], tmp_path / "bundle", camelyon_miniature)
    # A second line only of a setting that all of the runs should share.
    (line, *more) = [each for each in error.value.violations if "has other settings" not in each or "mixed" in name]
    assert line.startswith(said.replace("{}", str(runs)))
    assert more == []
    assert "\n" not in line
    assert not (tmp_path / "bundle").exists()


def test_a_run_may_go_on_for_more_epochs_and_keep_other_files(
    copy: Copy, camelyon_miniature: Path, tmp_path: Path
) -> None:
    """As WILDS's script does it: a second head in the log, with the flags of the second call."""
    runs = copy()
    log = runs / "seed4" / "log.txt"
    head = log.read_text().partition("\n\n")[0]
    assert "\nN epochs: 3\n" in head
    log.write_text(
        f"{head.replace('N epochs: 3', 'N epochs: 2')}\n\nEpoch [0]:\n\n"
        f"{head.replace('Save step: None', 'Save step: 1').replace('Resume: False', 'Resume: True')}\n\n"
    )
    assert submit([runs], tmp_path / "bundle", camelyon_miniature).is_new


def test_everything_that_is_wrong_is_told_at_once(copy: Copy, camelyon_miniature: Path, tmp_path: Path) -> None:
    runs = copy()
    for name in ("missing_seed", "missing_split", "truncated_file", "header", "stale_best_epoch", "unfinished_run"):
        BROKEN[name][0](runs)
    words = [str(runs), "--out", str(tmp_path / "bundle"), "--root_dir", str(camelyon_miniature)]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 1
    violations = result.stderr.strip().splitlines()
    assert [re.search(r"seed ?(\d)", line)[1] for line in violations] == ["7", "0", "2", "4", "5", "6"]
    # Outside of a test, the last line goes to standard error, too.
    assert result.stdout == "wilds-targeted: error: 6 things that break the rules; nothing was written\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]


def test_the_smallest_score_on_test_is_the_best_where_smaller_is_better(copy: Copy) -> None:
    folder = copy(6) / "seed6"
    edit(folder / "log.txt", "Val metric decreasing: False", "Val metric decreasing: True")
    said = all_of_another_epoch(read_run(folder), 1, [0])
    assert said.startswith(f"all predictions of {folder} are of epoch 0, the best one on test, and validation chooses")


def test_a_score_that_is_no_number_is_the_same_as_another() -> None:
    nan = float("nan")
    table = {0: {"acc": 0.5, "wg": nan}, 1: {"acc": 0.5, "wg": 0.1}, 2: {"acc": 0.5}}
    assert epochs_that_score({"acc": 0.5, "wg": nan}, table) == [0]
    assert epochs_that_score({"acc": 0.5, "wg": 0.1}, table) == [1]


def test_a_seed_whose_run_failed_is_told_so(copy: Copy, camelyon_miniature: Path, tmp_path: Path) -> None:
    runs = copy(*range(9))
    listed = ", ".join(f'"seed{seed}"' for seed in range(9))
    (runs / "runs.json").write_text(
        f'{{"recipe": null, "title": "A", "runs": [{listed}], "failed": [{{"unit": "units/nine-0f", "seed": 9}}]}}'
    )
    with pytest.raises(SubmissionError, match=r"^seed 9 is missing \(its run failed: units/nine-0f\): "):
        submit([runs], tmp_path / "bundle", camelyon_miniature)


def test_runs_of_several_data_sets_are_refused(copy: Copy, miniature: Path, tmp_path: Path) -> None:
    runs = copy(0, 1)
    make_run(runs / "wild", get_dataset("iwildcam", root_dir=miniature), 0)
    with pytest.raises(SubmissionError) as error:
        submit([runs], tmp_path / "bundle", miniature)
    assert error.value.violations == (
        f"the runs are of several data sets: camelyon17 (2, such as {runs}/seed0), iwildcam (1, such as {runs}/wild); "
        "give those of one, a bundle for each",
    )


def test_data_without_a_rule_of_ours_are_refused() -> None:
    with pytest.raises(ConfigError, match="of poverty replicates are folds: pack its files by hand"):
        rule_for("poverty")
    with pytest.raises(ConfigError, match=r"no data set 'iwildcan' \(did you mean 'iwildcam'\?\)"):
        rule_for("iwildcan")
    with pytest.raises(ConfigError, match="asks for seeds 0-9 of camelyon17, no others"):
        with_seeds(rule_for("camelyon17"), (0, 1), is_miniature=False)
    with pytest.raises(ConfigError, match="two different seeds"):
        with_seeds(rule_for("birdcalls"), (1, 1), is_miniature=False)
    for text in ("0-x", "", "4-2", "-1", "0-1000", "1" * 5000, "\u0661"):
        with pytest.raises(ConfigError, match="whole numbers and ranges"):
            parse_seeds(text)
    assert parse_seeds(" 3, 0-1") == (3, 0, 1)


def test_the_rules_are_those_of_the_leaderboards_script(real_checkout: Path) -> None:
    """The functions inside of its evaluate.py that tell seeds and metrics, taken out and asked."""
    source = ast.parse((real_checkout / "examples" / "evaluate.py").read_text())
    inner = {node.name: node for node in ast.walk(source) if isinstance(node, ast.FunctionDef)}
    theirs: dict[str, Any] = {"List": list}
    wanted: list[ast.stmt] = [inner["get_replicates"], inner["get_metrics"]]
    exec(compile(ast.Module(wanted, []), "evaluate.py", "exec"), theirs)
    for name, rule in RULES.items():
        if rule.is_on_leaderboard:
            assert theirs["get_replicates"](name) == [f"seed:{seed}" for seed in rule.seeds]
            assert theirs["get_metrics"](name) == list(rule.metrics)
        else:
            with pytest.raises(ValueError, match=f"Invalid dataset: {name}"):
                theirs["get_metrics"](name)
