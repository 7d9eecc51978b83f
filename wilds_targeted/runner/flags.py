"""The flags of WILDS's `run_expt.py`, with WILDS's meaning, and a few of our own."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

from wilds_targeted.algorithms.optimization import OPTIMIZERS, SCHEDULER_DEFAULTS
from wilds_targeted.choice import NO_ADDITIONAL_TRANSFORM, WILDS_ADDITIONAL_TRANSFORMS
from wilds_targeted.errors import ConfigError, UnknownNameError, closest
from wilds_targeted.options import add_options
from wilds_targeted.registry import get_registry
from wilds_targeted.runner.supported import LOGGED_METRICS, LOSSES, OUTPUT_FUNCTIONS
from wilds_targeted.runner.transforms import BASE_TRANSFORMS

REFUSED_FLAGS = {
    "unlabeled data": (
        "--unlabeled_split",
        "--unlabeled_version",
        "--use_unlabeled_y",
        "--unlabeled_loader_kwargs",
        "--unlabeled_n_groups_per_batch",
        "--unlabeled_batch_size",
    ),
    "NoisyStudent": ("--noisystudent_add_dropout", "--noisystudent_dropout_rate", "--teacher_model_path"),
    "pseudo-labels": (
        "--self_training_lambda",
        "--self_training_threshold",
        "--pseudolabel_T2",
        "--soft_pseudolabels",
        "--process_pseudolabels_function",
    ),
    "AFN": ("--afn_penalty_weight", "--safn_delta_r", "--hafn_r", "--use_hafn"),
    "Weights & Biases": ("--use_wandb", "--wandb_api_key_path", "--wandb_kwargs"),
}
"""What `run_expt.py` has and the built-in runner has not, by what it serves."""

REFUSED_ALGORITHMS = ("AFN", "FixMatch", "PseudoLabel", "NoisyStudent")
REFUSED_MODELS = (
    "resnet18_ms",
    "bert-base-uncased",
    "distilbert-base-uncased",
    "gin-virtual",
    "logistic_regression",
    "code-gpt-py",
    "fasterrcnn",
    "unet-seq",
)
"""Models that only WILDS's script has; the data sets that need them are WILDS's to run."""

USE_WILDS = "Use WILDS's script for that: --runner wilds, with a checkout from `wilds-targeted fetch-wilds`."


class _Refuse(argparse.Action):
    """A flag of `run_expt.py` that the built-in runner does not have."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> NoReturn:
        raise ConfigError(f"{self.option_strings[0]}: the built-in runner has no {self.const}. {USE_WILDS}")


class _Assignments(argparse.Action):
    """``key=value …``, with numbers and booleans recognized as WILDS does."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        assignments = {}
        for word in values:
            key, equals, value = word.partition("=")
            if not equals or not key:
                parser.error(f"{option_string} takes key=value, got {word!r}")
            assignments[key] = _guess(value)
        setattr(namespace, self.dest, assignments)


def _guess(word: str) -> Any:
    """A word as WILDS takes it: an integer, a number, a boolean, or itself.

    >>> [_guess(word) for word in ("-3", "0.5", "1e-4", "true", "spawn")]
    [-3, 0.5, 0.0001, True, 'spawn']
    """
    for convert in (int, float):
        try:
            return convert(word)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(word.lower(), word)


def _boolean(word: str) -> bool:
    try:
        return {"true": True, "false": False}[word.lower()]
    except KeyError:
        raise argparse.ArgumentTypeError(f"{word!r}: true or false is expected") from None


def _at_least(minimum: int) -> Any:
    def convert(word: str) -> int:
        value = int(word)
        if value < minimum:
            raise argparse.ArgumentTypeError(f"{value}: a number of at least {minimum} is expected")
        return value

    convert.__name__ = "integer"  # argparse names the function when the word is no number at all
    return convert


def build_parser() -> argparse.ArgumentParser:
    """A parser that takes what `run_expt.py` takes."""
    parser = argparse.ArgumentParser(
        prog="wilds-targeted run --runner builtin",
        description="Train and evaluate on a WILDS data set, with the flags, files and numbers of WILDS's run_expt.py. "
        "Defaults come with data set, algorithm and model.",
    )
    for add in (_add_data, _add_model, _add_objective, _add_optimization, _add_evaluation, _add_own):
        add(parser)
    for what, flags in REFUSED_FLAGS.items():
        for flag in flags:
            hidden = argparse.SUPPRESS
            parser.add_argument(flag, nargs="*", action=_Refuse, const=what, default=hidden, help=hidden)
    add_options(parser)
    return parser


def _named(sort: str, known: Collection[str], refused: Sequence[str] = ()) -> Any:
    """A name out of a list, with a helpful error; names that only WILDS's script has are told so."""

    def convert(word: str) -> str:
        if word in refused:
            raise ConfigError(f"{sort} {word!r}: the built-in runner does not have it. {USE_WILDS}")
        if word not in known:
            missing = get_registry().transforms.why_missing()
            raise UnknownNameError(
                f"there is no {sort} {word!r}{closest(word, known)}. Known: {', '.join(known)}.{missing}"
            )
        return word

    return convert


def _add_data(parser: argparse.ArgumentParser) -> None:
    import wilds

    registry = get_registry()
    group = parser.add_argument_group("data")
    datasets = list(dict.fromkeys([*wilds.supported_datasets, *registry.datasets]))
    flag = group.add_argument
    flag("-d", "--dataset", required=True, metavar="NAME", type=_named("data set", datasets), help="Data set.")
    flag("--root_dir", required=True, metavar="DIR", help="Folder that holds the data set's folder.")
    flag("--split_scheme", metavar="NAME", help="How the data is split; the data set knows which ways there are.")
    _kwargs(group, "--dataset_kwargs", "For the data set.")
    _switch(group, "--download", "Let the data set download itself if it is not there.", default=False)
    flag("--frac", type=_share, default=1.0, metavar="F", help="Keep this share of every split, to try things out.")
    flag("--version", metavar="V", help="Which version of the data set.")
    flag("--train_loader", choices=["standard", "group"], help="Whether batches are drawn group by group.")
    _switch(group, "--uniform_over_groups", "Draw every group equally often.")
    _switch(group, "--distinct_groups", "No group twice in a batch of the group loader.")
    flag("--n_groups_per_batch", type=_at_least(1), metavar="N", help="For the group loader.")
    flag("--batch_size", type=_at_least(1), metavar="N")
    flag("--eval_loader", choices=["standard"], default="standard")
    _kwargs(group, "--loader_kwargs", "For torch's DataLoader: num_workers=4 pin_memory=True by default.")
    flag("--groupby_fields", nargs="+", metavar="FIELD", help="Metadata fields that define the groups (domains).")
    known = [*BASE_TRANSFORMS, *registry.transforms]
    flag("--transform", metavar="NAME", type=_named("transform", known, ("bert", "poverty")), help=", ".join(known))
    additional = [NO_ADDITIONAL_TRANSFORM, *WILDS_ADDITIONAL_TRANSFORMS[:2], *registry.transforms]
    flag(
        "--additional_train_transform",
        metavar="NAME",
        type=_named("additional transform", list(dict.fromkeys(additional))),
        help="A registered transform on top of the base one; `none` for none, also where WILDS sets one.",
    )
    flag("--target_resolution", nargs="+", type=_at_least(1), metavar="N", help="Height and width that the model sees.")
    flag("--resize_scale", type=float, metavar="S", help="For the transforms image_resize….")
    flag("--max_token_length", type=int, metavar="N", help="For text, which the built-in runner does not train on.")
    flag("--randaugment_n", type=int, metavar="N", help="For WILDS's own RandAugment.")


def _add_model(parser: argparse.ArgumentParser) -> None:
    models = get_registry().models
    group = parser.add_argument_group("model")
    flag = group.add_argument
    flag("--model", metavar="NAME", type=_named("model", models, REFUSED_MODELS), help=", ".join(sorted(models)))
    _kwargs(group, "--model_kwargs", "For the model, such as pretrained=False.")
    flag("--pretrained_model_path", metavar="FILE", help="Weights to start from: a model file of WILDS's or ours.")
    _switch(group, "--load_featurizer_only", "Leave the classifier's weights out of it.", default=False)


def _add_objective(parser: argparse.ArgumentParser) -> None:
    algorithms = sorted(get_registry().algorithms)
    group = parser.add_argument_group("algorithm")
    flag = group.add_argument
    known = _named("algorithm", algorithms, REFUSED_ALGORITHMS)
    flag("--algorithm", required=True, metavar="NAME", type=known, help=", ".join(algorithms))
    flag("--loss_function", metavar="NAME", type=_named("loss", list(LOSSES), ("fasterrcnn_criterion",)))
    _kwargs(group, "--loss_kwargs", "No loss takes any.")
    flag("--algo_log_metric", metavar="NAME", type=_named("metric", [name for name in LOGGED_METRICS if name]))
    flag("--group_dro_step_size", type=float, metavar="S", help="groupDRO: how fast the groups' weights move.")
    flag("--coral_penalty_weight", type=float, metavar="W")
    flag("--dann_penalty_weight", type=float, metavar="W")
    flag("--dann_classifier_lr", type=float, metavar="RATE")
    flag("--dann_featurizer_lr", type=float, metavar="RATE")
    flag("--dann_discriminator_lr", type=float, metavar="RATE")
    flag("--irm_lambda", type=float, metavar="W")
    flag("--irm_penalty_anneal_iters", type=int, metavar="N", help="IRM: from this batch on its weight is irm_lambda.")


def _add_optimization(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("optimization")
    flag = group.add_argument
    flag("--n_epochs", type=_at_least(1), metavar="N")
    flag("--optimizer", choices=list(OPTIMIZERS))
    flag("--lr", type=float, metavar="RATE")
    flag("--weight_decay", type=float, metavar="W")
    flag("--max_grad_norm", type=float, metavar="NORM", help="Clip the gradient to this norm.")
    _kwargs(group, "--optimizer_kwargs", "For the optimizer.")
    flag(
        "--gradient_accumulation_steps",
        type=_at_least(1),
        default=1,
        metavar="N",
        help="How many batches make one step of the optimizer.",
    )
    flag("--scheduler", choices=list(SCHEDULER_DEFAULTS))
    _kwargs(group, "--scheduler_kwargs", "For the schedule.")
    flag("--scheduler_metric_split", choices=["train", "val"], default="val")
    flag("--scheduler_metric_name", metavar="METRIC", help="For ReduceLROnPlateau.")


def _add_evaluation(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("evaluation and files")
    flag = group.add_argument
    flag("--val_metric", metavar="METRIC", help="What the best epoch is chosen by, on the split val.")
    _switch(group, "--val_metric_decreasing", "Whether lower is better.")
    outputs = _named("function", [name for name in OUTPUT_FUNCTIONS if name])
    flag("--process_outputs_function", metavar="NAME", type=outputs, help="From outputs to predictions.")
    _switch(group, "--evaluate_all_splits", "After every epoch; else only val and --eval_splits.", default=True)
    flag("--eval_splits", nargs="+", default=[], metavar="SPLIT")
    _switch(group, "--eval_only", "Evaluate a saved model.", default=False)
    flag("--eval_epoch", type=int, metavar="E", help="With --eval_only: this epoch's model instead of the best.")
    flag("--device", type=int, nargs="+", default=[0], metavar="N", help="GPUs, where there are any.")
    flag("--seed", type=int, default=0, metavar="N")
    flag("--log_dir", default="./logs", metavar="DIR", help="Where everything is written.")
    flag("--log_every", type=_at_least(1), default=50, metavar="N", help="Log after so many steps.")
    flag("--save_step", type=_at_least(1), metavar="N", help="Keep the model and predictions of every Nth epoch.")
    _switch(group, "--save_best", "Keep those of the best epoch.", default=True)
    _switch(group, "--save_last", "Keep those of the last epoch.", default=True)
    _switch(group, "--save_pred", "Write predictions.", default=True)
    _switch(group, "--no_group_logging", "Leave statistics by group out of the log.")
    _switch(group, "--progress_bar", "Force progress bars or switch progress off; by default bars on a terminal.")
    _switch(group, "--resume", "Go on where a run in the same log_dir stopped, to the very same result.", default=False)


def _add_own(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("only in the built-in runner")
    flag = group.add_argument
    flag(
        "--on_bad_example",
        choices=["stop", "skip"],
        default="stop",
        help="What to do about an image that can't be read: stop in one line, or read every image once before training "
        "and leave those out, listed in skipped_examples.csv.",
    )
    flag(
        "--checkpoint_every",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="Save all that --resume needs at least this often, beside the end of every epoch (default 600).",
    )


def _kwargs(group: Any, name: str, text: str) -> None:
    group.add_argument(name, nargs="*", action=_Assignments, default={}, metavar="KEY=VALUE", help=text)


def _switch(group: Any, name: str, text: str, default: bool | None = None) -> None:
    group.add_argument(name, type=_boolean, nargs="?", const=True, default=default, metavar="true|false", help=text)


def _share(word: str) -> float:
    value = float(word)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{word}: a share above 0 and up to 1 is expected")
    return value


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The configuration as given, without defaults that depend on data set, algorithm or model."""
    config = build_parser().parse_args(list(arguments))
    # argparse would hand out one and the same dictionary again and again, and defaults are filled into it.
    for name, value in vars(config).items():
        if isinstance(value, dict):
            setattr(config, name, dict(value))
    return config
