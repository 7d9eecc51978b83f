"""Flags and defaults: WILDS's, or refused by name."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from wilds_targeted.choice import settle_optimizer_kwargs
from wilds_targeted.errors import ConfigError, UnknownNameError
from wilds_targeted.registry import get_registry
from wilds_targeted.runner.defaults import complete
from wilds_targeted.runner.flags import REFUSED_ALGORITHMS, REFUSED_FLAGS, build_parser, parse

REAL_ONLY = """
import json, sys
sys.argv = [sys.argv[0]]
import run_expt, argparse
from configs.utils import populate_defaults
kept = {}
def parse_args(self, *arguments):
    kept["parser"] = self
    raise KeyboardInterrupt
argparse.ArgumentParser.parse_args = parse_args
try:
    run_expt.main()
except KeyboardInterrupt:
    pass
parser = kept["parser"]
del argparse.ArgumentParser.parse_args
found = {"flags": sorted(flag for action in parser._actions for flag in action.option_strings)}
for dataset in %s:
    for algorithm in %s:
        words = ["--dataset", dataset, "--algorithm", algorithm, "--root_dir", "x"]
        for action in parser._actions:
            if isinstance(action.default, dict):
                action.default = {}
        config = populate_defaults(argparse.ArgumentParser.parse_known_args(parser, words)[0])
        found[f"{dataset} {algorithm}"] = vars(config)
print("RESULT" + json.dumps(found))
"""

DATASETS = [name for name in get_registry().datasets if name not in ("birdcalls", "cameras")]
ALGORITHMS = ["ERM", "IRM", "deepCORAL", "DANN", "groupDRO"]


def settle(*flags: str) -> Namespace:
    given = ["--root_dir", "data"]
    if "--dataset" not in flags:
        given += ["--dataset", "iwildcam"]
    if "--algorithm" not in flags:
        given += ["--algorithm", "ERM"]
    return complete(parse([*given, *flags]))


@pytest.mark.parametrize("flag", [flag for flags in REFUSED_FLAGS.values() for flag in flags])
def test_what_the_runner_has_not_is_refused_by_name(flag: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{flag}: the built-in runner has no .*--runner wilds"):
        settle(flag, "1")


@pytest.mark.parametrize("name", REFUSED_ALGORITHMS)
def test_algorithms_for_unlabeled_data_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"algorithm '{name}': the built-in runner does not have it"):
        settle("--algorithm", name)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--algorithm EMR", r"no algorithm 'EMR' \(did you mean 'ERM'\?\)\. Known: CDAN, DANN, "),
        ("--dataset iwildcan", r"no data set 'iwildcan' \(did you mean 'iwildcam'\?\)"),
        ("--model resnet51", r"no model 'resnet51' \(did you mean 'resnet"),
        ("--transform copypaste", "no transform 'copypaste' .*did you mean 'copypaste"),
    ],
)
def test_unknown_names_are_told(flags: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        settle(*flags.split())


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--model bert-base-uncased", "model 'bert-base-uncased': the built-in runner does not have it"),
        ("--transform bert", "transform 'bert': the built-in runner does not have it"),
        ("--randaugment_n 2", "With --transform randaugment give --transform_kwargs k=N"),
        ("--dataset civilcomments", "data set 'civilcomments': the built-in runner has no model for it"),
        ("--additional_train_transform randaugment", "does not repeat WILDS's draws"),
        ("--additional_train_transform weak", "does not repeat WILDS's draws"),
        ("--algorithm deepCORAL", "which WILDS sets for deepCORAL: .*--additional_train_transform none"),
        ("--algorithm DANN --lr 0.1 --additional_train_transform none", "--lr does not go with --algorithm DANN"),
        ("--n_groups_per_batch 2", "--n_groups_per_batch goes with --train_loader group"),
        ("--distinct_groups true", "--distinct_groups goes with --train_loader group"),
        ("--algorithm IRM --train_loader standard", "IRM compares domains within a batch"),
        ("--algorithm groupDRO --uniform_over_groups false", "groupDRO needs --uniform_over_groups true"),
        ("--load_featurizer_only", "needs --pretrained_model_path"),
        ("--loss_kwargs a=1", "no loss takes any"),
        ("--max_token_length 5", "does not train on text"),
        ("--eval_epoch 3", "--eval_epoch goes with --eval_only"),
        ("--resume --eval_only", "leave one out"),
        ("--cdan_classifier_lr 0.1", "--cdan_classifier_lr goes with --algorithm CDAN, not ERM"),
    ],
)
def test_what_does_not_go_together_gets_one_line(flags: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        settle(*flags.split())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--frac 2", "a share above 0 and up to 1 is expected"),
        ("--batch_size 0", "a number of at least 1 is expected"),
        ("--download maybe", "true or false is expected"),
        ("--model_kwargs pretrained", "--model_kwargs takes key=value, got 'pretrained'"),
        ("--cdan_penalty_weight -1", "a number of at least 0 is expected"),
    ],
)
def test_wrong_values_are_told_by_the_parser(flags: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        settle(*flags.split())
    assert message in capsys.readouterr().err


def test_the_command_line_wins_over_the_defaults() -> None:
    config = settle("--lr", "0.5", "--loader_kwargs", "num_workers=1", "--model_kwargs", "pretrained=false")
    assert (config.lr, config.batch_size, config.n_epochs) == (0.5, 16, 12)
    assert config.loader_kwargs == {"num_workers": 1, "pin_memory": True}
    assert config.model_kwargs == {"pretrained": False}


def test_defaults_are_not_shared_between_runs() -> None:
    settle().loader_kwargs["num_workers"] = 99
    assert settle().loader_kwargs["num_workers"] == 4


def test_a_data_sets_keywords_hold_for_wilds_models_only() -> None:
    # WILDS: Camelyon17 trains from scratch whatever the model. A registered model has keywords of its own.
    assert settle("--dataset", "camelyon17", "--model", "resnet50").model_kwargs == {"pretrained": False}
    assert "pretrained" not in settle("--dataset", "camelyon17", "--model", "miniature-cnn").model_kwargs


def test_a_data_sets_keywords_hold_for_its_own_optimizer_only() -> None:
    assert settle("--dataset", "camelyon17").optimizer_kwargs == {"momentum": 0.9}
    assert settle("--dataset", "camelyon17", "--optimizer", "SGD").optimizer_kwargs == {"momentum": 0.9}
    assert settle("--dataset", "camelyon17", "--optimizer", "Adam").optimizer_kwargs == {}
    given = ("--optimizer", "Adam", "--optimizer_kwargs", "amsgrad=True")
    assert settle("--dataset", "camelyon17", *given).optimizer_kwargs == {"amsgrad": True}


def test_keywords_that_others_bring_stay() -> None:
    config = Namespace(optimizer="AdamW", optimizer_kwargs={"momentum": 0.9, "eps": 1e-8})
    settle_optimizer_kwargs(config, {}, {"optimizer": "SGD", "optimizer_kwargs": {"momentum": 0.9}})
    assert config.optimizer_kwargs == {"eps": 1e-8}, "a model's own default"


def test_birdcalls_has_the_papers_settings() -> None:
    defaults = get_registry().datasets["birdcalls"].defaults
    assert (defaults["model"], defaults["batch_size"], defaults["n_epochs"]) == ("efficientnet_b0", 64, 100)


def test_flags_and_defaults_are_those_of_a_real_checkout(run: Callable, examples: Path, tmp_path: Path) -> None:
    if "standin" in str(examples):
        pytest.skip("the stand-in has the flags but not the defaults")
    script = tmp_path / "dump.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(examples)!r})\n" + REAL_ONLY % (DATASETS, ALGORITHMS))
    finished = run(script, how="without")
    assert "RESULT" in finished.output, finished.output
    found = json.loads(finished.output.partition("RESULT")[2].splitlines()[0])
    ours = {flag for action in build_parser()._actions for flag in action.option_strings}
    assert set(found.pop("flags")) <= ours
    for name, theirs in found.items():
        dataset, algorithm = name.split()
        flags = ["--dataset", dataset, "--algorithm", algorithm]
        if theirs["additional_train_transform"]:
            flags += ["--additional_train_transform", "none"]
            theirs["additional_train_transform"] = None
        config = json.loads(json.dumps(vars(settle(*flags))))
        for key in set(config) & set(theirs) - {"root_dir", "progress_bar"}:
            assert config[key] == theirs[key], f"{name}: {key}"
        missing = [key for key in theirs if key not in config and f"--{key}" not in str(REFUSED_FLAGS)]
        assert missing == []
