"""The settings of runs: which of them a submission may have, and whether they are the same for all seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from wilds_targeted.experiments.runs import RunFolder
from wilds_targeted.registry import get_registry

NONE = "None"
"""How a log tells that a flag was not set."""

_BOOKKEEPING = frozenset(
    "seed log_dir root_dir download device use_data_parallel loader_kwargs unlabeled_loader_kwargs progress_bar "
    "log_every no_group_logging save_step save_best save_last save_pred resume checkpoint_every evaluate_all_splits "
    "eval_splits eval_only eval_epoch use_wandb wandb_api_key_path wandb_kwargs".split()
)
"""Flags that say where and how a run was done, not what was trained."""

_OF_ALGORITHMS = (
    *("coral", "dann", "cdan", "irm", "group_dro", "afn", "safn", "hafn", "use_hafn", "self_training", "pseudolabel"),
    *("soft_pseudolabels", "noisystudent", "process_pseudolabels", "unlabeled", "use_unlabeled"),
)
"""What the names of flags begin with that serve one algorithm, or unlabeled data; WILDS logs them for any."""


def settings_of(run: RunFolder) -> dict[str, str]:
    """What was trained and how, by flag; of a run that went on with other flags, those it ended with."""
    return {name: value for name, value in {**run.config, **run.changed}.items() if name not in _BOOKKEEPING}


def n_epochs(run: RunFolder) -> int:
    """How many epochs the run was to last."""
    text = settings_of(run).get("n_epochs", "")
    return int(text) if text.isdecimal() else 0


def wrong_settings(run: RunFolder) -> Iterator[str]:
    """What the rules don't allow, a line each."""
    settings = settings_of(run)
    scheme = settings.get("split_scheme", NONE)
    if scheme not in ("official", NONE):
        yield (
            f"{run.path} was run with --split_scheme {scheme}: results are compared on the official splits; run it "
            f"again without that flag"
        )
    frac = settings.get("frac", "1.0")
    if not _is_one(frac):
        yield (
            f"{run.path} was run with --frac {frac}, a part of each split: every example must be predicted; run it "
            f"again without that flag"
        )
    unlabeled = settings.get("unlabeled_split", NONE)
    if unlabeled != NONE:
        yield (
            f"{run.path} was trained with --unlabeled_split {unlabeled}: only `train` may be trained on in what "
            f"`submit` packs; leave the run out"
        )
    for name in transforms_of(run):
        spec = get_registry().transforms.get(name)
        if spec is not None and spec.in_evaluation:
            yield (
                f"{run.path} was run with the diagnostic {name}, which changes the images of the test set, too; "
                f"leave the run out"
            )
    changed = {name: value for name, value in run.changed.items() if name not in {*_BOOKKEEPING, "n_epochs"}}
    if changed:
        told = ", ".join(f"{name} {value} instead of {run.config.get(name, 'none')}" for name, value in changed.items())
        yield f"{run.path} went on with other settings than it began with ({told}); run it anew"


def differing_settings(runs: Sequence[RunFolder]) -> Iterator[str]:
    """For each run that differs from most of the others a line: replicates differ in their seeds only.

    A flag that one of WILDS's script and the built-in runner does not have can't tell them apart.
    """
    all_settings = [settings_of(run) for run in runs]
    usual: dict[str, str] = {}
    for name in dict.fromkeys(name for settings in all_settings for name in settings):
        counts = Counter(settings[name] for settings in all_settings if name in settings)
        usual[name] = counts.most_common(1)[0][0]
    for run, settings in zip(runs, all_settings, strict=True):
        differences = [
            f"{name} {value} instead of {usual[name]}" for name, value in settings.items() if value != usual[name]
        ]
        if differences:
            yield (
                f"{run.path} (seed {run.seed}) has other settings than most of the runs ({', '.join(differences)}): "
                f"replicates may differ in their seeds only; leave it out, or run that seed again"
            )


def transforms_of(run: RunFolder) -> list[str]:
    """The names of the run's transform and of what is added to it."""
    settings = settings_of(run)
    names = (settings.get("transform", NONE), settings.get("additional_train_transform", NONE))
    return [name for name in names if name not in (NONE, "none")]


def reasons_against_standard(run: RunFolder) -> list[str]:
    """Why the guidelines count this method among the non-standard ones; none if they don't."""
    reasons = []
    for name in transforms_of(run):
        spec = get_registry().transforms.get(name)
        if spec is None:
            continue
        if spec.datasets:
            reasons.append(f"the augmentation `{name}` is made for {' and '.join(spec.datasets)}")
        if any(parameter.name == "annotations" for parameter in spec.parameters):
            reasons.append(f"`{name}` uses masks and boxes that are no part of WILDS's {run.dataset}")
    return reasons


def of_interest(run: RunFolder) -> dict[str, str]:
    """The settings that are set to something and serve the run's algorithm."""
    algorithm = run.algorithm.lower()
    return {
        name: value
        for name, value in settings_of(run).items()
        if value not in (NONE, "{}", "[]", "")
        and not any(name.startswith(word) and word.replace("_", "") not in algorithm for word in _OF_ALGORITHMS)
    }


def _is_one(text: str) -> bool:
    try:
        return float(text) == 1
    except ValueError:
        return False
