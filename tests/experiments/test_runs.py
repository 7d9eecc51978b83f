"""Log folders: those of a real WILDS checkout, of the stand-in and of the built-in runner; lists; broken ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from wilds_targeted.errors import DataError
from wilds_targeted.experiments.report.gathering import Choices, gather
from wilds_targeted.experiments.runs import find_runs, read_list, read_run

TINY = (
    "--dataset iwildcam --algorithm ERM --model resnet18 --model_kwargs pretrained=False --target_resolution 32 32 "
    "--n_epochs 2 --batch_size 16 --loader_kwargs num_workers=0 pin_memory=False --frac 0.4 --seed 3 "
    "--transform copypaste_samey --transform_kwargs soft_edges=2.5 --evaluate_all_splits false --eval_splits test"
).split()
HEAD = {
    "Dataset": "iwildcam",
    "N epochs": "3",
    "Transform": "image_base",
    "Algorithm": "ERM",
    "Seed": "0",
    "Val metric": "F1-macro_all",
    "Val metric decreasing": "False",
    "Eval only": "False",
    "Resume": "False",
}


def write_run(folder: Path, *val: float | str, **head: str) -> Path:
    """A log folder whose validation scores are these; words of the head are given with underscores."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.txt").write_text(
        text_of(**head) + "Train data...\n    n = 7\n\nEpoch [0]:\n\nTrain:\nobjective: 1\n"
    )
    rows = "".join(f"{epoch},{score},0.5\n" for epoch, score in enumerate(val))
    (folder / "val_eval.csv").write_text(f"epoch,F1-macro_all,acc_avg\n{rows}")
    return folder


def text_of(**head: str) -> str:
    told = {**HEAD, **{name.replace("_", " ").capitalize(): value for name, value in head.items()}}
    return "".join(f"{name}: {value}\n" for name, value in told.items()) + "\n"


@pytest.mark.slow
def test_both_scripts_folders_are_read(run: Callable, examples: Path, miniature: Path, tmp_path: Path) -> None:
    flags = ["--root_dir", miniature, *TINY]
    theirs = run(examples / "run_expt.py", *flags, "--log_dir", "logs/theirs", path=())
    assert theirs.status == 0, theirs.output
    ours = run("wilds-targeted", "run", "--runner", "builtin", *flags, "--log_dir", "logs/ours", how="command")
    assert ours.status == 0, ours.output
    found = find_runs([tmp_path / "logs"])
    assert [each.path.name for each in found] == ["ours", "theirs"]
    for each in found:
        assert (each.dataset, each.algorithm, each.transform, each.seed) == ("iwildcam", "ERM", "copypaste_samey", 3)
        assert each.val_metric == "F1-macro_all"
        assert not each.val_metric_decreasing
        assert each.config["transform_kwargs"] == "{'soft_edges': 2.5}"
        assert each.config["n_epochs"] == "2"
        assert each.splits == ("test", "train", "val")
        assert set(each.table("test")) == {0, 1}
        assert each.predictions("test").is_file()
        assert not each.predictions("test", 0).exists()
        assert not each.changed
    assert found[0].best_epoch() == found[1].best_epoch()
    assert set(found[0].versions) == {"wilds-targeted", "torch", "torchvision", "numpy", "wilds", "Python"}
    assert found[1].versions == {}
    # Both are one method: the same settings, though each script logs some that the other has not.
    (section,) = gather(found, Choices({}, ("val", "test")))
    assert [method.seeds for method in section.methods] == [(3,)]
    assert "theirs has the seed 3 and the settings of" in section.notes[0]
    # A later evaluation adds a head, and a row to every table; it changes nothing about the run.
    again = run("wilds-targeted", "run", "--runner", "builtin", *flags, "--log_dir", "logs/ours", "--eval_only", "true",
                how="command")  # fmt: skip
    assert again.status == 0, again.output
    evaluated = read_run(tmp_path / "logs" / "ours")
    assert evaluated.config == found[0].config
    assert evaluated.versions == found[0].versions
    assert evaluated.best_epoch() == found[0].best_epoch()
    assert evaluated.table("test") == found[0].table("test")


@pytest.mark.parametrize(
    ("scores", "decreasing", "best"),
    [
        ((0.1, 0.3, 0.2), "False", 1),
        ((0.1, 0.3, 0.3), "False", 1),
        (("nan", 0.3, 0.2), "False", 1),
        ((0.1, 0.3, 0.1), "True", 0),
        (("", 0.3, "nan", 0.2), "True", 3),
    ],
)
def test_the_first_best_epoch_is_selected(tmp_path: Path, scores: tuple, decreasing: str, best: int) -> None:
    assert read_run(write_run(tmp_path, *scores, val_metric_decreasing=decreasing)).best_epoch() == best


def test_a_split_that_was_not_evaluated_is_none(tmp_path: Path) -> None:
    folder = write_run(tmp_path, 0.1)
    (folder / "id_val_eval.csv").touch()  # as WILDS's script leaves it
    assert read_run(folder).splits == ("val",)


def test_a_repeated_epoch_counts_once(tmp_path: Path) -> None:
    folder = write_run(tmp_path, 0.1, 0.9)
    with (folder / "val_eval.csv").open("a") as file:
        file.write("1,0.2,0.6\n2,0.15,0.7\n")
    run = read_run(folder)
    assert run.table("val")[1] == {"F1-macro_all": 0.2, "acc_avg": 0.6}
    assert run.best_epoch() == 1


def test_a_resumed_wilds_run_tells_what_changed(tmp_path: Path) -> None:
    folder = write_run(tmp_path, 0.1)
    assert read_run(folder).changed == {}
    with (folder / "log.txt").open("a") as file:
        file.write(text_of(resume="True", n_epochs="7") + text_of(eval_only="True", n_epochs="99"))
    assert read_run(folder).config["n_epochs"] == "3"
    assert read_run(folder).changed == {"n_epochs": "7"}


def test_runs_are_found_once_and_lists_decide(tmp_path: Path) -> None:
    for name in ("a/seed0", "b/units/tuning", "b/units/final"):
        write_run(tmp_path / name, 0.1)
    listed = {"recipe": None, "title": "Mine", "runs": ["units/final"], "failed": [{"unit": "u", "seed": 4}]}
    (tmp_path / "b" / "runs.json").write_text(json.dumps(listed))
    found = find_runs([tmp_path, tmp_path / "a", tmp_path / "b" / "units" / "final"])
    assert [run.path.relative_to(tmp_path).as_posix() for run in found] == ["a/seed0", "b/units/final"]
    assert found[0].listed is None
    assert found[1].listed == read_list(tmp_path / "b" / "runs.json")
    assert found[1].listed.title == "Mine"
    assert found[1].listed.failed == (("u", 4),)


def test_runs_behind_links_are_found_and_circles_end(tmp_path: Path) -> None:
    write_run(tmp_path / "store" / "seed0", 0.1)
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen" / "first").symlink_to(tmp_path / "store" / "seed0")
    (tmp_path / "chosen" / "again").symlink_to(tmp_path / "store")
    (tmp_path / "chosen" / "circle").symlink_to(tmp_path / "chosen")
    found = find_runs([tmp_path / "chosen"])
    assert [run.path.relative_to(tmp_path).as_posix() for run in found] == ["chosen/again/seed0"]


def test_a_broken_folder_is_passed_over_where_somebody_takes_the_error(tmp_path: Path) -> None:
    write_run(tmp_path / "good", 0.1)
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / "runs.json").write_text('{"runs": ["gone", "../good"]}')
    broken: list[DataError] = []
    assert [run.path.name for run in find_runs([tmp_path / "list"], broken)] == ["good"]
    assert [str(error) for error in broken] == [
        f"{tmp_path}/list/gone is no log folder of a run: it has no log.txt",
    ]
    with pytest.raises(DataError, match="gone is no log folder"):
        find_runs([tmp_path / "list"])


def test_versions_of_a_run_that_went_on_with_others(tmp_path: Path) -> None:
    folder = write_run(tmp_path, 0.1)
    (folder / "versions.json").write_text('[{"torch": "2.5", "wilds": "2.0"}, {"torch": "2.6", "wilds": "2.0"}]')
    assert read_run(folder).versions == {"torch": "2.5, 2.6", "wilds": "2.0"}


def test_what_is_no_run_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere is not a folder"):
        find_runs([tmp_path / "nowhere"])
    with pytest.raises(DataError, match=r"holds no run: no folder in it has a log\.txt or a runs\.json"):
        find_runs([tmp_path])
    with pytest.raises(DataError, match=r"is no log folder of a run: it has no log\.txt"):
        read_run(tmp_path)
    folder = write_run(tmp_path / "run", 0.1)
    cases = {
        "Starting\n": "does not begin with a run's configuration",
        "Dataset: iwildcam\nAlgo": "is cut off or not WILDS's; it lacks algorithm, seed, val_metric",
        text_of(seed="0.5"): "the seed is '0.5', a whole number is expected",
        text_of(seed="²"): "the seed is '²', a whole number is expected",
    }
    for text, message in cases.items():
        (folder / "log.txt").write_text(text)
        with pytest.raises(DataError, match=message):
            read_run(folder)


def test_broken_tables_get_one_line(tmp_path: Path) -> None:
    folder = write_run(tmp_path, 0.1)
    cases = {
        "": r"val_eval\.csv is empty: the split was not evaluated",
        "epoch,F1-macro_all\n0,0.25\n1,0.2": "cut off: its last line has no end",
        "epoch,F1-macro_all\n0,0.25\n1\n": "line 3: 2 values are expected, got 1",
        "epoch,F1-macro_all\n0,good\n": "numbers are expected below the first line",
        "epoch,F1-macro_all\ninf,0.5\n": "numbers are expected below the first line",
        "F1-macro_all\n0.5\n": "a first line with a column 'epoch' is expected",
        "epoch,F1-macro_all\n": "no epoch was validated",
        "epoch,acc_avg\n0,0.5\n": r"no column 'F1-macro_all'.*its columns: acc_avg",
    }
    for text, message in cases.items():
        (folder / "val_eval.csv").write_text(text)
        with pytest.raises(DataError, match=message) as caught:
            read_run(folder).best_epoch()
        assert "\n" not in str(caught.value)
    (folder / "test_eval.csv").mkdir()
    with pytest.raises(DataError, match=r"test_eval\.csv can't be read"):
        read_run(folder).table("test")
    (folder / "test_eval.csv").rmdir()
    with pytest.raises(DataError, match="the run has no metrics of that split"):
        read_run(folder).table("test")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"runs": []', "is broken or cut off"),
        ('{"title": "x"}', "is no list of runs"),
        ("[]", "is no list of runs"),
        ('{"title": 5, "runs": ["a"]}', "is no list of runs.*title: 5"),
        ('{"recipe": ["x"], "runs": ["a"]}', "is no list of runs.*recipe"),
        ('{"runs": [], "failed": [{"unit": "u", "seed": 0}]}', r"lists no finished run \(1 failed\)"),
        ('{"runs": ["gone"]}', "gone is no log folder of a run"),
    ],
)
def test_broken_lists_get_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "runs.json").write_text(text)
    with pytest.raises(DataError, match=message):
        find_runs([tmp_path])


def test_broken_versions_get_one_line(tmp_path: Path) -> None:
    (write_run(tmp_path, 0.1) / "versions.json").write_text("[3]")
    with pytest.raises(DataError, match="is no list of versions by name"):
        read_run(tmp_path)
