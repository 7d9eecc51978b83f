"""Bundles of runs that keep the rules: what is in them, and that WILDS's script scores them alike."""

from __future__ import annotations

import json
import math
import shutil
import statistics
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from made_runs import Copy, make_run, make_runs

from wilds_targeted.api import get_dataset
from wilds_targeted.cli.submit import command
from wilds_targeted.errors import DataError
from wilds_targeted.experiments.leaderboard.checks import SubmissionError
from wilds_targeted.experiments.leaderboard.description import Author
from wilds_targeted.experiments.leaderboard.submission import submit

NAMES = sorted(
    f"camelyon17_split:{split}_seed:{seed}_epoch:best_pred.csv"
    for split in ("id_val", "test", "val")
    for seed in range(10)
)
# Of 20 images on test, 7 are wrong and as many more as the seed's remainder by three.
TEST = [1 - (7 + seed % 3) / 20 for seed in range(10)]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("no_checkout")
def test_a_bundle_holds_what_is_to_be_uploaded(copy: Copy, camelyon_miniature: Path, tmp_path: Path) -> None:
    runs = copy()
    bundle = submit([runs], tmp_path / "bundle", camelyon_miniature)
    assert bundle.is_new
    assert bundle.is_miniature
    assert (bundle.left_out, bundle.checkout) == ((), None)
    assert sorted(path.name for path in bundle.path.iterdir()) == [
        "SUBMISSION.md",
        "camelyon17",
        "camelyon17_results.json",
        "predictions.tar.gz",
    ]
    assert sorted(path.name for path in (bundle.path / "camelyon17").iterdir()) == NAMES
    for seed in (0, 1):
        name = f"camelyon17_split:test_seed:{seed}_epoch:best_pred.csv"
        assert (bundle.path / "camelyon17" / name).read_bytes() == (runs / f"seed{seed}" / name).read_bytes()
    results = json.loads((bundle.path / "camelyon17_results.json").read_text())
    assert list(results) == ["id_val", "test", "val"]
    assert results["test"] == {
        "acc_avg_std": pytest.approx(statistics.stdev(TEST), abs=1e-6),
        "acc_avg": pytest.approx(statistics.fmean(TEST), abs=1e-6),
    }
    assert results["val"] == {"acc_avg_std": pytest.approx(0, abs=1e-6), "acc_avg": pytest.approx(0.8)}
    assert results == bundle.results


@pytest.mark.usefixtures("no_checkout")
def test_the_archive_is_the_leaderboards_layout_and_the_same_bytes_each_time(
    copy: Copy, camelyon_miniature: Path, tmp_path: Path
) -> None:
    one = submit([copy(name="one")], tmp_path / "first", camelyon_miniature)
    other = submit([copy(name="other")], tmp_path / "second", camelyon_miniature)
    with tarfile.open(one.path / "predictions.tar.gz") as archive:
        assert archive.getnames() == [f"camelyon17/{name}" for name in NAMES]
        assert {(entry.uid, entry.uname, entry.mode, entry.mtime) for entry in archive} == {(0, "", 0o644, 946684800)}
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert files_of(tmp_path / "unpacked" / "camelyon17") == files_of(one.path / "camelyon17")
    assert files_of(one.path) == files_of(other.path)


def test_a_checkouts_script_gives_the_same_numbers(
    copy: Copy, camelyon_miniature: Path, checkout: Path, tmp_path: Path
) -> None:
    bundle = submit([copy()], tmp_path / "bundle", camelyon_miniature, wilds=checkout)
    assert bundle.checkout == checkout
    assert "WILDS's own `evaluate.py` gives the same numbers." in (bundle.path / "SUBMISSION.md").read_text()


@pytest.mark.parametrize("number", [10, 20])
def test_the_real_script_scores_bundles_of_ten_and_of_twenty_seeds(
    number: int, copy: Copy, camelyon_miniature: Path, real_checkout: Path, tmp_path: Path, run: Any
) -> None:
    """As the leaderboard's people run it: on the whole bundle, and on what the archive holds."""
    bundle = submit([copy(*range(number))], tmp_path / "bundle", camelyon_miniature, wilds=real_checkout)
    assert bundle.left_out == tuple(range(10, number))
    assert len(list((bundle.path / "camelyon17").iterdir())) == 30
    with tarfile.open(bundle.path / "predictions.tar.gz") as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    script = real_checkout / "examples" / "evaluate.py"
    for predictions in (bundle.path, tmp_path / "unpacked"):
        out = tmp_path / f"out-{predictions.name}"
        out.mkdir()
        finished = run(script, predictions, out, "--root_dir", camelyon_miniature)
        assert finished.status == 0, finished.output
        assert finished.output.count("Processing split=") == 30
        theirs = (out / "camelyon17_results.json").read_text()
        assert theirs == (bundle.path / "camelyon17_results.json").read_text()
        assert json.loads((out / "all_results.json").read_text())["camelyon17"] == bundle.results
    if number == 20:
        text = (bundle.path / "SUBMISSION.md").read_text()
        assert "Further seeds that are there and were left out: 10-19." in text


def test_other_numbers_of_the_script_are_an_error(
    copy: Copy, camelyon_miniature: Path, examples: Path, tmp_path: Path
) -> None:
    checkout = tmp_path / "wilds"
    shutil.copytree(examples, checkout / "examples")
    script = checkout / "examples" / "evaluate.py"
    script.write_text(script.read_text().replace("ddof=1", "ddof=0"))
    with pytest.raises(DataError, match=r"evaluate.py in .*wilds gives acc_avg_std = .* on id_val, and we have"):
        submit([copy()], tmp_path / "bundle", camelyon_miniature, wilds=checkout)
    script.write_text("raise ValueError('broken\\nscript')")
    with pytest.raises(DataError, match=r"evaluate.py can't score the bundle: broken script. Nothing was written"):
        submit([tmp_path / "runs"], tmp_path / "bundle", camelyon_miniature, wilds=checkout)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "wilds"]


@pytest.mark.usefixtures("no_checkout")
def test_what_is_replaced_and_what_is_not(copy: Copy, camelyon_miniature: Path, tmp_path: Path) -> None:
    runs, out = copy(), tmp_path / "bundle"
    out.mkdir()
    assert submit([runs], out, camelyon_miniature).is_new
    first = files_of(out)
    assert not submit([runs], out, camelyon_miniature).is_new
    named = Author(name="Another")
    with pytest.raises(DataError, match=f"{out} holds another bundle; choose another --out, or replace it with"):
        submit([runs], out, camelyon_miniature, author=named)
    assert files_of(out) == first
    assert submit([runs], out, camelyon_miniature, author=named, force=True).is_new
    assert "# Another on camelyon17" in (out / "SUBMISSION.md").read_text()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match=r"holds thesis.tex, which no bundle of these runs has; choose a new folder"):
        submit([runs], out, camelyon_miniature, force=True)
    assert (out / "thesis.tex").exists()
    with pytest.raises(DataError, match=r"thesis.tex is a file; choose a folder"):
        submit([runs], out / "thesis.tex", camelyon_miniature, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "runs"]


@pytest.mark.usefixtures("no_checkout")
def test_only_a_whole_bundle_is_replaced(
    copy: Copy, camelyon_miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, out = copy(), tmp_path / "bundle"

    def refusal(place: Path) -> str:
        before = files_of(out)
        with pytest.raises(DataError) as error:
            submit([runs], place, camelyon_miniature, author=Author(name="Another"), force=True)
        assert files_of(out) == before
        return str(error.value).removeprefix(f"{place} ").partition(";")[0]

    submit([runs], out, camelyon_miniature)
    (tmp_path / "link").symlink_to(out)
    assert refusal(tmp_path / "link") == "is a link"
    note = out / "camelyon17" / "notes.txt"
    note.write_text("mine")
    assert refusal(out) == "holds camelyon17/notes.txt, which no bundle of these runs has"
    note.unlink()
    (out / "SUBMISSION.md").rename(tmp_path / "elsewhere.md")
    assert refusal(out) == "holds no whole bundle: SUBMISSION.md is not there"
    (tmp_path / "elsewhere.md").rename(out / "SUBMISSION.md")
    (out / "camelyon17").rename(tmp_path / "moved")
    (out / "camelyon17").symlink_to(tmp_path / "moved")
    assert refusal(out) == "holds camelyon17, which no bundle of these runs has"
    monkeypatch.chdir(out)
    assert refusal(out) == "is the current folder, which can't be replaced"


@pytest.mark.usefixtures("no_checkout")
@pytest.mark.parametrize("step", [1, 2])
def test_an_interruption_leaves_the_bundle_that_was_there(
    step: int, copy: Copy, camelyon_miniature: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after each of the two renames that put a bundle in another one's place."""
    runs, out = copy(), tmp_path / "bundle"
    submit([runs], out, camelyon_miniature)
    first, done, rename = files_of(out), [], Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        found = rename(path, target)
        done.append(path)
        if len(done) == step:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            submit([runs], out, camelyon_miniature, author=Author(name="Another"), force=True)
    assert (files_of(out) == first) == (step == 1), "the old one, or the whole new one"
    assert ("# Another" in (out / "SUBMISSION.md").read_text()) == (step == 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "runs"]


@pytest.mark.usefixtures("no_checkout")
def test_the_command_tells_scores_and_what_is_left_to_do(copy: Copy, camelyon_miniature: Path, tmp_path: Path) -> None:
    words = [str(copy(*range(12))), "--out", str(tmp_path / "bundle"), "--root_dir", str(camelyon_miniature)]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "split         acc_avg",
        "id_val   62.92 (3.65)",
        "test     60.50 (4.38)",
        "val      80.00 (0.00)",
        "Per cent, mean (standard deviation) over seeds 0-9.",
        "",
        "Left out, since WILDS's leaderboard asks for seeds 0-9: 10-11.",
        "Not compared with WILDS's evaluate.py: there is no checkout (`wilds-targeted fetch-wilds` makes one).",
        "The data are a generated miniature: nothing for a leaderboard.",
        f"{tmp_path}/bundle holds the bundle.",
        "SUBMISSION.md has 10 places to fill in.",
    ]
    again = CliRunner().invoke(command, words)
    assert f"{tmp_path}/bundle holds this very bundle already." in again.stdout.splitlines()


@pytest.mark.usefixtures("no_checkout")
def test_birdcalls_has_the_papers_seeds_and_its_own_evaluator(birdcalls_miniature: Path, tmp_path: Path) -> None:
    dataset = get_dataset("birdcalls", root_dir=birdcalls_miniature)
    runs = make_runs(tmp_path / "runs", dataset, (0, 1), "--transform", "copypaste_sameregion")
    with pytest.raises(SubmissionError) as error:
        submit([runs], tmp_path / "bundle", birdcalls_miniature)
    assert len(error.value.violations) == 18
    assert error.value.violations[0].startswith(
        "seed 2 is missing: the paper asks for seeds 0-19 of birdcalls, and there are 0-1; train it with --seed 2"
    )
    bundle = submit([runs], tmp_path / "bundle", birdcalls_miniature, seeds=(0, 1))
    assert list(bundle.results) == ["val", "id_test", "test"]
    test = dataset.get_subset("test")
    # 7 of 20 wrong, and seed 1 has one more
    expected = [1 - (round(0.35 * len(test)) + seed) / len(test) for seed in (0, 1)]
    assert bundle.results["test"]["acc_avg"] == pytest.approx(statistics.fmean(expected), abs=1e-6)
    assert bundle.results["test"]["acc_avg_std"] == pytest.approx(
        abs(expected[0] - expected[1]) / math.sqrt(2), abs=1e-6
    )
    assert set(bundle.results["test"]) == {"F1-macro_all", "F1-macro_all_std", "acc_avg", "acc_avg_std"}
    text = (bundle.path / "SUBMISSION.md").read_text()
    assert "WILDS's leaderboard has no birdcalls" in text
    assert "(0-1) are what --seeds asks for" in " ".join(text.split())


@pytest.mark.slow
@pytest.mark.usefixtures("no_checkout")
def test_a_birdcalls_bundle_of_the_papers_twenty_seeds(birdcalls_miniature: Path, tmp_path: Path) -> None:
    runs = make_runs(tmp_path / "runs", get_dataset("birdcalls", root_dir=birdcalls_miniature), range(20))
    bundle = submit([runs], tmp_path / "bundle", birdcalls_miniature)
    assert len(list((bundle.path / "birdcalls").iterdir())) == 60
    assert [replicate.run.seed for replicate in bundle.replicates] == list(range(20))


@pytest.mark.slow
def test_runs_of_both_runners_make_one_bundle(miniature: Path, real_checkout: Path, tmp_path: Path, run: Any) -> None:
    words = (
        "--dataset iwildcam --algorithm ERM --transform copypaste_samey --transform_p 0.5 --model miniature-cnn "
        "--target_resolution 16 16 --n_epochs 2 --batch_size 16 --loader_kwargs num_workers=0"
    ).split()
    for seed in range(3):
        which = ["--runner", "wilds", "--wilds", real_checkout] if seed == 0 else ["--runner", "builtin"]
        place = ["--root_dir", miniature, "--log_dir", tmp_path / "runs" / str(seed), "--seed", seed]
        finished = run("wilds-targeted", "run", *which, *words, *place, how="command")
        assert finished.status == 0, finished.output
    place = ["--out", tmp_path / "bundle", "--root_dir", miniature, "--wilds", real_checkout]
    finished = run("wilds-targeted", "submit", tmp_path / "runs", *place, how="command")
    assert finished.status == 0, finished.output
    assert f"WILDS's evaluate.py in {real_checkout} gives the same numbers." in finished.output
    text = (tmp_path / "bundle" / "SUBMISSION.md").read_text()
    assert "| Category | non-standard |" in text
    assert "- `copypaste_samey` uses masks and boxes that are no part of WILDS's iwildcam" in text
    assert len(list((tmp_path / "bundle" / "iwildcam").iterdir())) == 12


def test_a_miniature_may_have_other_seeds(copy: Copy, camelyon_miniature: Path, checkout: Path, tmp_path: Path) -> None:
    words = ["--out", str(tmp_path / "bundle"), "--root_dir", str(camelyon_miniature), "--wilds", str(checkout)]
    result = CliRunner().invoke(command, [str(copy(0, 1, 2)), *words, "--seeds", "1-2"])
    assert result.exit_code == 0, result.output
    assert "Left out, since --seeds asks for seeds 1-2: 0." in result.stdout
    assert "Seeds by --seeds, not those of WILDS's leaderboard: its script does not take this bundle." in result.stdout
    assert "The seeds (1-2) were chosen with --seeds" in (tmp_path / "bundle" / "SUBMISSION.md").read_text()


@pytest.mark.usefixtures("no_checkout")
def test_one_broken_log_folder_is_one_line(copy: Copy, camelyon_miniature: Path, tmp_path: Path) -> None:
    runs = copy()
    (runs / "seed3" / "log.txt").write_text("Dataset: camelyon17\nSeed: 3\n")
    words = [str(runs), "--out", str(tmp_path / "bundle"), "--root_dir", str(camelyon_miniature)]
    result = CliRunner().invoke(command, words)
    assert isinstance(result.exception, DataError)
    assert str(result.exception).startswith(f"{runs}/seed3/log.txt: the configuration is cut off")
    make_run(tmp_path / "lonely", get_dataset("camelyon17", root_dir=camelyon_miniature), 0)
    with pytest.raises(DataError, match="camelyon17 can't be loaded from"):
        submit([tmp_path / "lonely"], tmp_path / "bundle", tmp_path / "nowhere")
