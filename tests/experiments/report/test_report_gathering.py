"""Runs become methods; what can't be averaged is left out or kept apart, and said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reported_runs import write_log, write_two_methods

from wilds_targeted.errors import ConfigError, DataError, UnknownNameError
from wilds_targeted.experiments.report.gathering import Choices, find_method, gather
from wilds_targeted.experiments.report.methods import Section
from wilds_targeted.experiments.report.tables import result_table
from wilds_targeted.experiments.runs import find_runs

SCORES = {"id_test": (0.5, 0.6), "test": (0.3, 0.4)}


def sections_of(root: Path, **choices: object) -> list[Section]:
    return gather(find_runs([root]), Choices(**{"titles": {}, **choices}))  # type: ignore[arg-type]


def section_of(root: Path, **choices: object) -> Section:
    (section,) = sections_of(root, **choices)
    return section


def test_methods_means_and_errors_by_hand(tmp_path: Path) -> None:
    section = section_of(write_two_methods(tmp_path))
    plain, pasted = section.methods
    assert (plain.title, plain.seeds, plain.kind) == ("Unaugmented", (0, 1, 2), "—")
    assert (pasted.title, pasted.seeds, pasted.kind) == ("Copy-Paste (Same Y)", (0, 1), "targeted")
    assert str(plain.estimate("id_test", "F1-macro_all")) == "50.0 (5.8)"  # deviation 0.1, over sqrt(3)
    assert str(plain.estimate("test", "F1-macro_all")) == "25.0 (2.9)"
    assert str(pasted.estimate("id_test", "F1-macro_all")) == "48.0 (4.0)"
    assert str(pasted.estimate("test", "F1-macro_all")) == "36.0 (6.0)"
    printed = pasted.printed("test", "F1-macro_all")
    assert printed is not None
    assert (printed.mean, printed.error) == (36.5, 0.4)
    assert any(note.startswith("Copy-Paste (Same Y) has 2 seeds (0-1) and lacks 2-4") for note in section.notes)
    assert any(note.startswith("Unaugmented has 3 seeds (0-2) and lacks 3-4, which") for note in section.notes)
    assert any("n_epochs 2 for 15" in note for note in section.notes)


def test_what_changes_no_number_makes_no_method(tmp_path: Path) -> None:
    write_log(tmp_path / "a", SCORES, seed=0)
    other = {"device": "cuda", "root_dir": "/elsewhere", "log_every": 7, "save_step": 3, "eval_splits": "['test']"}
    write_log(tmp_path / "b", SCORES, seed=1, **other)
    # The built-in runner logs what WILDS's script has not, and the other way round.
    write_log(tmp_path / "c", SCORES, seed=2, on_bad_example="stop", amp="None", cdan_penalty_weight=1.0)
    write_log(tmp_path / "d", SCORES, seed=3, self_training_lambda=1.0, use_wandb="False", dann_penalty_weight=0.5)
    assert [method.seeds for method in section_of(tmp_path).methods] == [(0, 1, 2, 3)]


@pytest.mark.parametrize("changed", [{"lr": "1e-05"}, {"n_epochs": "1"}, {"amp": "bf16"}, {"model": "resnet18"}])
def test_what_changes_numbers_is_kept_apart(tmp_path: Path, changed: dict[str, str]) -> None:
    write_log(tmp_path / "a", SCORES, seed=0)
    write_log(tmp_path / "b", SCORES, seed=1, **changed)
    section = section_of(tmp_path)
    name = next(iter(changed))
    assert len(section.methods) == 2
    assert all(f"({name} " in method.title for method in section.methods)
    assert f"Unaugmented: runs that differ in more than their seeds ({name}) are kept apart." in section.notes


@pytest.mark.parametrize("changed", [{"split_scheme": "other"}, {"version": "1.0"}, {"frac": "0.5"}])
def test_other_examples_are_another_section(tmp_path: Path, changed: dict[str, str]) -> None:
    write_log(tmp_path / "a", SCORES, seed=0)
    write_log(tmp_path / "b", SCORES, seed=1, **changed)
    titles = {section.title for section in sections_of(tmp_path)}
    ((name, value),) = changed.items()
    assert titles == {"iwildcam", f"iwildcam ({name.replace('_', ' ')} {value})"}


def test_what_can_not_count_is_left_out_and_said(tmp_path: Path) -> None:
    write_log(tmp_path / "good", SCORES, seed=0)
    write_log(tmp_path / "again", SCORES, seed=0)
    write_log(tmp_path / "short", {**SCORES, "val": (0.1,)}, seed=1)
    write_log(tmp_path / "gap", {**SCORES, "test": (0.4,)}, seed=2)
    write_log(tmp_path / "nan", {**SCORES, "test": (0.3, float("nan"))}, seed=3)
    write_log(tmp_path / "lacking", {"id_test": (0.3, 0.4)}, seed=4)
    cut = write_log(tmp_path / "cut", SCORES, seed=5)
    (cut / "id_test_eval.csv").write_text("epoch,F1-macro_all\n0,0.5\n1,0.")
    write_log(tmp_path / "infinite", {**SCORES, "id_test": (0.3, float("inf"))}, seed=7)
    write_log(tmp_path / "loss", {**SCORES, "test": (0.3, 3.5)}, seed=8)
    resumed = write_log(tmp_path / "resumed", SCORES, seed=6)
    with (resumed / "log.txt").open("a") as file:
        file.write((resumed / "log.txt").read_text().replace("Lr: 3e-05", "Lr: 1.0"))
    section = section_of(tmp_path)
    assert [method.seeds for method in section.methods] == [(0,)]
    notes = "\n".join(section.notes)
    for words in (
        "infinite: F1-macro_all is inf on id_test, and a report shows shares",
        "loss: F1-macro_all is 3.5 on test, and a report shows shares",
        "good has the seed 0 and the settings of",
        "short is unfinished: 1 of 2 epochs",
        "gap: epoch 1 was selected, and test_eval.csv has no row of it",
        "nan: F1-macro_all of epoch 1, which was selected, is not a number on test",
        "lacking has no metrics of the split 'test'",
        "id_test_eval.csv is cut off",
        "resumed went on with other settings than it began with (lr 3e-05, then 1.0)",
    ):
        assert words in notes
    assert all("\n" not in note for note in section.notes)


def test_folders_that_nobody_can_read_are_left_out_and_said(tmp_path: Path) -> None:
    write_two_methods(tmp_path / "runs")
    for name, text in {"killed": "", "cut": "Dataset: iwildcam\nAlgo"}.items():
        (tmp_path / "runs" / name).mkdir()
        (tmp_path / "runs" / name / "log.txt").write_text(text)
    broken: list[DataError] = []
    (section,) = gather(find_runs([tmp_path], broken), Choices({}), broken)
    assert [method.seeds for method in section.methods] == [(0, 1, 2), (0, 1)]
    told = [note for note in section.notes if note.startswith("Left out: ")]
    assert ["cut/log.txt" in told[0], "killed/log.txt" in told[1]] == [True, True]
    with pytest.raises(DataError, match="does not begin with a run's configuration"):
        find_runs([tmp_path / "runs" / "killed"], [])


def test_one_title_for_different_settings_keeps_them_apart(tmp_path: Path) -> None:
    write_log(tmp_path / "a", SCORES, seed=0)
    write_log(tmp_path / "b", SCORES, seed=0, lr="1e-05")
    titles = [method.title for method in section_of(tmp_path, titles={"image_base": "Mine"}).methods]
    assert titles == ["Mine (lr 1e-05)", "Mine (lr 3e-05)"]
    own = section_of(tmp_path, titles={"Unaugmented (lr 1e-05)": "Slow"})
    assert [method.title for method in own.methods] == ["Slow", "Unaugmented (lr 3e-05)"]


def test_long_keywords_make_no_long_file_names(tmp_path: Path) -> None:
    for value in (1, 2):
        write_log(tmp_path / str(value), SCORES, seed=0, dataset_kwargs={"k" * 300: value})
    names = {section.name for section in sections_of(tmp_path)}
    assert len(names) == 2
    assert max(map(len, names)) < 80


def test_a_run_that_was_made_longer_counts(tmp_path: Path) -> None:
    scores = {"val": (0.1, 0.2, 0.3), "id_test": (0.1, 0.2, 0.3), "test": (0.1, 0.2, 0.3)}
    folder = write_log(tmp_path / "a", scores, seed=1)
    with (folder / "log.txt").open("a") as file:
        file.write((folder / "log.txt").read_text().replace("N epochs: 2", "N epochs: 3"))
    write_log(tmp_path / "b", scores, seed=0, n_epochs=3)
    (method,) = section_of(tmp_path).methods
    assert method.seeds == (0, 1)
    assert [member.epoch for member in method.members] == [2, 2]


def test_the_smallest_of_an_error_is_the_best(tmp_path: Path) -> None:
    flags = {"val_metric": "F1-macro_all", "val_metric_decreasing": "True", "seed": 0}
    write_log(tmp_path / "a", {"val": (0.2, 0.1), **SCORES}, **flags)
    write_log(tmp_path / "b", {"val": (0.2, 0.1), **SCORES, "test": (0.3, 0.1)}, **flags, transform="copypaste_samey")
    section = section_of(tmp_path)
    assert section.is_decreasing
    assert [cells[1].is_best for _, _, cells in result_table(section).rows] == [False, True]


def test_nothing_left_is_an_error(tmp_path: Path) -> None:
    write_log(tmp_path / "short", {**SCORES, "val": (0.1,)}, seed=1)
    with pytest.raises(DataError, match=r"none of the 1 runs can be reported on; the first reason: .*unfinished"):
        sections_of(tmp_path)


def test_a_list_gives_title_recipe_and_failures(tmp_path: Path) -> None:
    for seed in range(2):
        write_log(tmp_path / "units" / f"final-{seed}", SCORES, seed=seed, transform="copypaste_samey")
    write_log(tmp_path / "units" / "tuning", {"id_test": (0, 0), "test": (0, 0)}, transform="copypaste_samey", seed=0)
    listed = {
        "recipe": "iwildcam/copypaste_samey",
        "title": "Ours",
        "runs": ["units/final-0", "units/final-1"],
        "failed": [{"unit": "units/final-2", "seed": 2}],
    }
    (tmp_path / "runs.json").write_text(json.dumps(listed))
    section = section_of(tmp_path)
    (method,) = section.methods
    assert method.title == "Ours"
    assert method.recipe is not None
    assert method.recipe.name == "iwildcam/copypaste_samey"
    assert str(method.estimate("test", "F1-macro_all")).startswith("40.0")
    assert any("failed runs, which no mean includes: units/final-2 (seed 2)" in note for note in section.notes)


def test_published_numbers_need_the_papers_data_and_model(tmp_path: Path) -> None:
    write_log(tmp_path / "small", SCORES, seed=0, model="miniature-cnn", transform="copypaste_samey")
    other = write_log(tmp_path / "other", SCORES, seed=0, transform="copypaste_all")
    (other / "iwildcam_split:test_seed:0_epoch:best_pred.csv").write_text("1\n2\n3\n")
    write_log(tmp_path / "own", SCORES, seed=0, transform="of_mine")
    section = section_of(tmp_path)
    assert not any(method.published for method in section.methods)
    notes = "\n".join(section.notes)
    assert "beside Copy-Paste (Same Y): --model miniature-cnn, where the paper has resnet50." in notes
    assert "beside Copy-Paste (All Backgrounds): 3 predictions on test, where the paper's data set has 42,791" in notes
    assert "beside ERM + of_mine: no row of its tables is known to be this method." in notes


def test_a_recipe_is_found_by_what_it_asks_for(tmp_path: Path) -> None:
    coral = {"algorithm": "deepCORAL", "coral_penalty_weight": 1.0, "seed": 0}
    write_log(tmp_path / "coral", SCORES, **coral)
    write_log(tmp_path / "with", SCORES, **{**coral, "additional_train_transform": "randaugment"})
    write_log(tmp_path / "lisa", SCORES, transform="lisa_cutmix", seed=0)
    write_log(
        tmp_path / "clip", SCORES, model="clip-vit-large-patch14", model_kwargs="{'pretrained': 'openai'}", seed=0
    )
    found = {method.members[0].run.path.name: method.recipe for method in section_of(tmp_path).methods}
    names = {name: recipe.name if recipe else None for name, recipe in found.items()}
    assert names == {
        "coral": "iwildcam/deepcoral",
        "with": None,
        "lisa": "iwildcam/lisa",
        "clip": "iwildcam/clip_unaugmented",
    }


def versioned(folder: Path, seed: int, version: str | None) -> None:
    write_log(folder, SCORES, seed=seed)
    if version:
        (folder / "versions.json").write_text(json.dumps([{"torch": version, "wilds": "2.0.0"}]))


def test_versions_that_differ_are_said_and_not_averaged_over(tmp_path: Path) -> None:
    for seed, version in enumerate(["2.5", "2.6", None, "2.5"]):
        versioned(tmp_path / str(seed), seed, version)
    section = section_of(tmp_path)
    assert {method.title: method.seeds for method in section.methods} == {
        "Unaugmented (torch 2.5, wilds 2.0.0)": (0, 3),
        "Unaugmented (torch 2.6, wilds 2.0.0)": (1,),
        "Unaugmented (torch not told, wilds not told)": (2,),
    }
    assert "The runs were made with different versions of torch: 2.5 (2 runs); 2.6 (1 run)." in section.notes
    assert any(note.startswith("1 of 4 runs do not tell with which versions") for note in section.notes)
    assert not any("of wilds:" in note for note in section.notes)


def test_a_run_that_does_not_tell_its_versions_goes_with_the_others(tmp_path: Path) -> None:
    for seed, version in enumerate(["2.5", None, "2.5"]):
        versioned(tmp_path / str(seed), seed, version)
    (method,) = section_of(tmp_path).methods
    assert (method.title, method.seeds) == ("Unaugmented", (0, 1, 2))


def test_titles_splits_and_metrics_of_ones_own(tmp_path: Path) -> None:
    write_log(tmp_path / "plain" / "a", {**SCORES, "id_val": (0.7, 0.8)}, seed=0)
    write_log(tmp_path / "pasted" / "b", {**SCORES, "id_val": (0.8, 0.9)}, seed=0, transform="copypaste_samey")
    titles = {"copypaste_samey": "Pasting", str(tmp_path / "plain"): "Nothing"}
    section = section_of(tmp_path, titles=titles, splits=("id_val", "test", "id_test"))
    assert [method.title for method in section.methods] == ["Nothing", "Pasting"]
    assert [section.split_title(split) for split in section.splits] == ["ID val", "OOD test", "id_test"]
    with pytest.raises(UnknownNameError, match=r"--title copypaste_sam=…: there is no such method \(did you mean"):
        section_of(tmp_path, titles={"copypaste_sam": "x"})
    # Shells complete folders with a slash.
    slash = section_of(tmp_path, titles={f"{tmp_path / 'plain'}/": "Nothing"})
    assert slash.methods[0].title == "Nothing"
    assert find_method(slash, f"{tmp_path / 'pasted' / 'b'}/").transform == "copypaste_samey"
    with pytest.raises(ConfigError, match="an in-domain split and an out-of-domain one"):
        Choices({}, ("test",))
    with pytest.raises(DataError, match=r"has no column 'F1-macro'.*did you mean 'F1-macro_all'"):
        section_of(tmp_path, metric="F1-macro")
