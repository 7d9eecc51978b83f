"""An unmodified `run_expt.py` with everything registered: the stand-in's always, WILDS's where there is a checkout."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

TINY = (
    "--dataset iwildcam --model resnet18 --model_kwargs pretrained=False --target_resolution 32 32 --n_epochs 1 "
    "--batch_size 32 --loader_kwargs num_workers=0 pin_memory=False --frac 0.5 --log_dir logs"
).split()
SPLITS = ("train", "val", "test", "id_val", "id_test")
EVERYTHING = (Path(__file__).parent.parent / "everything_plugin.py").read_text()


@pytest.fixture
def train(run: Callable, examples: Path, miniature: Path) -> Callable:
    """Run the script on the miniature; `*flags` after the common ones."""

    def train(*flags: str, **keywords: object) -> object:
        algorithm = () if "--algorithm" in flags else ("--algorithm", "ERM")
        return run(examples / "run_expt.py", "--root_dir", miniature, *TINY, *algorithm, *flags, **keywords)

    return train


def predictions(folder: Path, epoch: str = "last", dataset: str = "iwildcam") -> dict[str, str]:
    return {
        split: (folder / "logs" / f"{dataset}_split:{split}_seed:0_epoch:{epoch}_pred.csv").read_text()
        for split in SPLITS
        if split != "train"
    }


def digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return hashlib.sha256(b"".join(str(path).encode() + path.read_bytes() for path in files)).hexdigest()


def test_help_lists_names_and_options(run: Callable, examples: Path) -> None:
    finished = run(examples / "run_expt.py", "--help", COLUMNS="200")
    assert finished.status == 0, finished.output
    assert "copypaste_samey" in finished.output
    assert "--transform_p P" in finished.output
    assert "--transform_kwargs [NAME=VALUE ...]" in finished.output


@pytest.mark.parametrize("name", ["copypaste_samey", "copypaste_all", "copypaste_samecountry"])
def test_copy_paste_trains_and_evaluates(name: str, train: Callable, examples: Path, tmp_path: Path) -> None:
    before = digest(examples)
    finished = train("--transform", name, "--transform_p", "0.8")
    assert finished.status == 0, finished.output
    assert "Copy-Paste: of " in finished.output
    assert "F1 macro" in finished.output or "F1-macro_all" in finished.output
    lengths = {split: len(lines.splitlines()) for split, lines in predictions(tmp_path).items()}
    assert all(lengths.values()), lengths
    assert pd.read_csv(tmp_path / "logs" / "val_eval.csv")["F1-macro_all"].notna().all()
    assert digest(examples) == before


def test_the_augmentation_changes_the_training(train: Callable, tmp_path: Path) -> None:
    train("--transform", "image_base")
    plain = pd.read_csv(tmp_path / "logs" / "train_algo.csv")["loss_avg"]
    train("--transform", "copypaste_samey")
    pasted = pd.read_csv(tmp_path / "logs" / "train_algo.csv")["loss_avg"]
    train("--transform", "copypaste_samey", "--transform_p", "0")
    never = pd.read_csv(tmp_path / "logs" / "train_algo.csv")["loss_avg"]
    assert pasted.iloc[-1] != plain.iloc[-1]
    assert never.iloc[-1] != pasted.iloc[-1]


def test_on_top_of_a_base_transform_it_is_the_same(train: Callable, tmp_path: Path) -> None:
    train("--transform", "copypaste_samey")
    whole = predictions(tmp_path)
    finished = train("--transform", "image_base", "--additional_train_transform", "copypaste_samey")
    assert finished.status == 0, finished.output
    assert predictions(tmp_path) == whole


def test_a_run_without_our_names_is_untouched(train: Callable, tmp_path: Path) -> None:
    with_bridge = train("--transform", "image_base", "--additional_train_transform", "randaugment")
    assert with_bridge.status == 0, with_bridge.output
    assert "Transform p: 1.0" in with_bridge.output
    ours = predictions(tmp_path), predictions(tmp_path, "best")
    shutil.rmtree(tmp_path / "logs")
    without = train("--transform", "image_base", "--additional_train_transform", "randaugment", how="without")
    assert without.status == 0, without.output
    assert "Transform p" not in without.output
    assert (predictions(tmp_path), predictions(tmp_path, "best")) == ours


def test_none_switches_off_the_additional_transform(train: Callable) -> None:
    group = ["--algorithm", "deepCORAL", "--n_groups_per_batch", "2"]
    default = train(*group)
    assert default.status == 0, default.output
    assert "Additional train transform: randaugment" in default.output
    switched_off = train(*group, "--additional_train_transform", "none")
    assert switched_off.status == 0, switched_off.output
    assert "Additional train transform: None" in switched_off.output


def test_deepcoral_takes_a_registered_transform(train: Callable) -> None:
    flags = ["--algorithm", "deepCORAL", "--n_groups_per_batch", "2", "--additional_train_transform", "none"]
    finished = train(*flags, "--transform", "copypaste_all")
    assert finished.status == 0, finished.output


def test_group_wise_logging_needs_no_torch_scatter(train: Callable, tmp_path: Path) -> None:
    finished = train("--no_group_logging", "false", "--transform", "image_base")
    assert finished.status == 0, finished.output
    assert any(column.startswith("acc_group") for column in pd.read_csv(tmp_path / "logs" / "train_algo.csv").columns)


def test_forked_workers(train: Callable, tmp_path: Path) -> None:
    finished = train("--transform", "copypaste_samey", "--loader_kwargs", "num_workers=2", "pin_memory=False")
    assert finished.status == 0, finished.output
    first = predictions(tmp_path)
    train("--transform", "copypaste_samey", "--loader_kwargs", "num_workers=2", "pin_memory=False")
    assert predictions(tmp_path) == first


@pytest.mark.slow
def test_spawned_workers(train: Callable, tmp_path: Path) -> None:
    flags = ["--transform", "copypaste_samey", "--frac", "0.2", "--evaluate_all_splits", "false"]
    finished = train(*flags, "--loader_kwargs", "num_workers=1", "pin_memory=False", "multiprocessing_context=spawn")
    assert finished.status == 0, finished.output


def test_every_other_sort_of_thing(
    run: Callable, examples: Path, miniature: Path, distribution: Callable, tmp_path: Path
) -> None:
    site = distribution("everything", EVERYTHING)
    root = tmp_path / "root"
    shutil.copytree(miniature / "iwildcam_v2.0", root / "cameras_v2.0")
    common = ["--root_dir", root, "--dataset", "cameras", "--dataset_kwargs", "colour=red", "--frac", "0.5"]
    flags = [*common, "--transform", "invert", "--mood", "fine", "--log_dir", "logs"]
    finished = run(examples / "run_expt.py", *flags, "--algorithm", "PlainERM", path=(site,))
    assert finished.status == 0, finished.output
    for words in ("cameras with colour=red", "PlainERM for ", "Mood: fine", "Model: small-net", "seen: "):
        assert words in finished.output
    assert len(predictions(tmp_path, dataset="cameras")["test"].splitlines()) > 0

    erm = run(examples / "run_expt.py", *flags, "--algorithm", "ERM", path=(site,))
    assert erm.status == 0, erm.output
    assert "parameter groups of small-net for their ERM" in erm.output, "ERM must stay WILDS's own"

    coral = run(examples / "run_expt.py", *flags, "--algorithm", "deepCORAL", "--n_groups_per_batch", "2", path=(site,))
    assert coral.status == 0, coral.output  # the model as featurizer and classifier

    refused = run(examples / "run_expt.py", *common, "--algorithm", "ERM", "--mood", "angry", path=(site,))
    assert refused.status == 1
    assert refused.last_line == "wilds-targeted: error: --mood angry does not go with --algorithm ERM"


def test_cdan_trains(train: Callable, tmp_path: Path) -> None:
    flags = "--algorithm CDAN --additional_train_transform none --cdan_penalty_weight 0.5 --cdan_classifier_lr 1e-3"
    finished = train(*flags.split(), "--transform", "copypaste_samey")
    assert finished.status == 0, finished.output
    assert pd.read_csv(tmp_path / "logs" / "train_algo.csv")["domain_classification_loss"].gt(0).all()


def test_pretrained_weights_of_a_registered_model(
    run: Callable, examples: Path, miniature: Path, distribution: Callable, tmp_path: Path
) -> None:
    site = distribution("everything", EVERYTHING)
    words = " ".join(TINY).replace("--model resnet18 --model_kwargs pretrained=False", "--model small-net").split()
    small = ["--root_dir", miniature, *words, "--algorithm", "ERM"]
    first = run(examples / "run_expt.py", *small, path=(site,))
    assert first.status == 0, first.output
    assert "Model kwargs: {'width': 8}" in first.output, "not the `pretrained` of iWildCam's own default model"
    weights = tmp_path / "logs" / "iwildcam_seed:0_epoch:last_model.pth"
    again = run(examples / "run_expt.py", *small, "--pretrained_model_path", weights, path=(site,))
    assert again.status == 0, again.output
    assert f"Initialized small-net with the weights of {weights}" in again.output


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            "--transform copypaste_samey --transform_kwargs soft_edge=2",
            "transform 'copypaste_samey' has no parameter 'soft_edge' (did you mean 'soft_edges'?). Allowed: "
            "min_confidence (a number from 0.1 to 1; default 0.5); soft_edges (a number from 0 to 32; default 0.0); "
            "annotations (text; default None)",
        ),
        (
            "--transform copypaste_samey --transform_kwargs soft_edges=99",
            "transform 'copypaste_samey': soft_edges=99: allowed is a number from 0 to 32",
        ),
        (
            "--transform copypaste_samey --transform_kwargs soft_edges",
            "--transform_kwargs takes name=value, got 'soft_edges'",
        ),
        (
            "--transform image_base --transform_kwargs soft_edges=2",
            "--transform_kwargs goes with a registered transform, and --transform image_base is WILDS's own. "
            "`wilds-targeted plugins` lists the registered ones.",
        ),
        (
            "--dataset camelyon17 --transform copypaste_all",
            "transform 'copypaste_all' serves iwildcam, not 'camelyon17'. `wilds-targeted plugins` lists what serves "
            "it.",
        ),
    ],
)
def test_wrong_options_get_one_line(flags: str, message: str, train: Callable) -> None:
    finished = train(*flags.split())
    assert finished.status == 1
    assert finished.last_line == f"wilds-targeted: error: {message}"
    assert "Traceback" not in finished.output


def test_a_probability_out_of_range_is_told_by_the_parser(train: Callable) -> None:
    finished = train("--transform", "copypaste_samey", "--transform_p", "1.5")
    assert finished.status == 2
    assert "'1.5' is not a probability: a number from 0 to 1 is expected" in finished.last_line


def test_missing_annotations_get_one_line(run: Callable, examples: Path, miniature: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(miniature / "iwildcam_v2.0", root / "iwildcam_v2.0")
    finished = run(
        examples / "run_expt.py", "--root_dir", root, *TINY, "--algorithm", "ERM", "--transform", "copypaste_all"
    )
    assert finished.status == 1
    assert finished.last_line.startswith("wilds-targeted: error: Copy-Paste needs the animals' masks or boxes, and")
    assert str(root) in finished.last_line
    assert "Traceback" not in finished.output


def test_a_broken_mask_gets_one_line_even_from_a_worker(
    run: Callable, examples: Path, miniature: Path, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    shutil.copytree(miniature, root)
    for mask in (root / "instance_masks").iterdir():
        mask.write_bytes(mask.read_bytes()[:40])
    flags = [*TINY, "--algorithm", "ERM", "--transform", "copypaste_all", "--loader_kwargs", "num_workers=1"]
    finished = run(examples / "run_expt.py", "--root_dir", root, *flags)
    assert finished.status == 1
    assert finished.last_line.startswith("wilds-targeted: error: ")
    assert ".png: cannot be read as PNG" in finished.last_line


def test_a_broken_plugin_costs_one_line_and_explains_what_is_missing(
    run: Callable, examples: Path, miniature: Path, distribution: Callable
) -> None:
    site = distribution("broken", "raise RuntimeError('out of luck')\n")
    finished = run(
        examples / "run_expt.py", "--root_dir", miniature, *TINY, "--algorithm", "ERM", "--transform", "x", path=(site,)
    )
    assert finished.status == 2
    warning = "plugin 'broken' of broken 1.0 could not be loaded: RuntimeError: out of luck"
    assert f"wilds-targeted: warning: {warning}" in finished.output
    assert f"It may be missing because {warning}" in finished.last_line


def test_a_conflict_stops_the_script_with_one_line(run: Callable, examples: Path, distribution: Callable) -> None:
    sites = (distribution("first", EVERYTHING), distribution("second", EVERYTHING))
    finished = run(examples / "run_expt.py", "--help", path=sites)
    assert finished.status == 1
    assert "'invert' is registered twice" in finished.last_line or "'cameras' is registered twice" in finished.last_line
    assert "Traceback" not in finished.output


def test_unlabeled_data_is_refused(train: Callable) -> None:
    finished = train("--transform", "copypaste_samey", "--unlabeled_split", "extra_unlabeled")
    assert finished.status == 1
    assert "needs labeled examples" in finished.last_line


def test_an_option_that_wilds_has_names_its_plugin(run: Callable, examples: Path, distribution: Callable) -> None:
    source = (
        "from wilds_targeted import OptionSpec, hookimpl\n"
        "@hookimpl\ndef register_options():\n    return [OptionSpec('--lr', 'A rate.')]\n"
    )
    finished = run(examples / "run_expt.py", "--help", path=(distribution("greedy", source),))
    assert finished.status == 1
    assert finished.last_line == (
        "wilds-targeted: error: plugin 'greedy' of greedy 1.0 adds the option --lr, which run_expt.py has already."
    )


def test_evaluate_scores_the_predictions(
    train: Callable, run: Callable, examples: Path, miniature: Path, tmp_path: Path
) -> None:
    for seed in ("0", "1", "2"):  # WILDS scores iWildCam over three seeds, and whole splits
        trained = train("--transform", "copypaste_samey", "--frac", "1.0", "--seed", seed)
        assert trained.status == 0, trained.output
    (tmp_path / "scores").mkdir()
    folders = (tmp_path / "logs", tmp_path / "scores")
    finished = run(examples / "evaluate.py", *folders, "--dataset", "iwildcam", "--root_dir", miniature)
    assert finished.status == 0, finished.output
    (scores,) = (tmp_path / "scores").glob("*.json")
    assert "F1-macro_all" in scores.read_text()
    assert "wilds-targeted" not in finished.output


def test_eval_only(train: Callable) -> None:
    trained = train("--transform", "copypaste_samey")
    assert trained.status == 0, trained.output
    again = train("--transform", "copypaste_samey", "--eval_only", "--evaluate_all_splits", "true")
    assert again.status == 0, again.output
