"""The training algorithms: ERM, groupDRO, and the invariance baselines that the paper compares with.

In a WILDS checkout the names that WILDS has stay WILDS's own, and only CDAN comes from here; the built-in runner uses
all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wilds_targeted import AlgorithmInputs, AlgorithmSpec, OptionSpec, hookimpl

if TYPE_CHECKING:
    from wilds_targeted.algorithms.single_model import SingleModelAlgorithm

_STANDARD = {"train_loader": "standard", "uniform_over_groups": False, "eval_loader": "standard"}
_BY_GROUP = {"train_loader": "group", "uniform_over_groups": True, "distinct_groups": True, "eval_loader": "standard"}
# WILDS augments the examples of these two unless `--additional_train_transform none` says otherwise.
_RANDAUGMENT = {"randaugment_n": 2, "additional_train_transform": "randaugment"}


@hookimpl
def register_algorithms() -> list[AlgorithmSpec]:
    """WILDS's own five that need no unlabeled data, with WILDS's defaults, and CDAN."""
    return [
        AlgorithmSpec(
            "ERM",
            build_erm,
            "Empirical risk minimization: the average loss.",
            {**_STANDARD, "randaugment_n": 2},
            paper="section 5: unaugmented, and under every augmentation",
        ),
        AlgorithmSpec(
            "groupDRO",
            build_group_dro,
            "Group DRO (Sagawa et al. 2020): groups with a high loss weigh more.",
            {**_STANDARD, "uniform_over_groups": True, "distinct_groups": True, "group_dro_step_size": 0.01},
        ),
        AlgorithmSpec(
            "deepCORAL",
            build_deep_coral,
            "Deep CORAL (Sun and Saenko 2016): equal feature means and covariances in all domains.",
            {**_BY_GROUP, "coral_penalty_weight": 1.0, **_RANDAUGMENT},
            paper="section 5, domain invariance baselines",
        ),
        AlgorithmSpec(
            "IRM",
            build_irm,
            "Invariant risk minimization (Arjovsky et al. 2019): one classifier optimal in all domains.",
            {**_BY_GROUP, "irm_lambda": 100.0, "irm_penalty_anneal_iters": 500},
            paper="section 5, domain invariance baselines",
        ),
        AlgorithmSpec(
            "DANN",
            build_dann,
            "Domain-adversarial training (Ganin et al. 2016): features that do not give the domain away.",
            {**_BY_GROUP, **_RANDAUGMENT},
            paper="section 5, domain invariance baselines (Camelyon17)",
        ),
        AlgorithmSpec(
            "CDAN",
            build_cdan,
            "Conditional domain-adversarial training (Long et al. 2018): the same within each class.",
            _BY_GROUP,
            paper="section 5, domain invariance baselines (iWildCam, BirdCalls)",
        ),
    ]


@hookimpl
def register_options() -> list[OptionSpec]:
    """CDAN's weight and learning rates."""
    return [
        OptionSpec(
            "--cdan_penalty_weight",
            "Weight of CDAN's domain loss (lambda; default 1; the paper searches 10^Uni(-0.3, 1)).",
            type=_not_negative,
            default=1.0,
            metavar="WEIGHT",
        ),
        OptionSpec(
            "--cdan_classifier_lr",
            "Learning rate of CDAN's classifier (default: --lr; the paper searches 10^Uni(-5.5, -4) on iWildCam, "
            "10^Uni(-5, -2) on BirdCalls).",
            type=_not_negative,
            metavar="RATE",
        ),
        OptionSpec(
            "--cdan_featurizer_lr",
            "Learning rate of CDAN's featurizer (default: a tenth of the classifier's, as in the paper).",
            type=_not_negative,
            metavar="RATE",
        ),
        OptionSpec(
            "--cdan_discriminator_lr",
            "Learning rate of CDAN's discriminator (default: --lr; the paper searches it like the classifier's).",
            type=_not_negative,
            metavar="RATE",
        ),
    ]


@hookimpl
def check_config(config: Any) -> None:
    """Refuse settings that an algorithm can't work with."""
    from wilds_targeted.errors import ConfigError

    needs_groups = config.algorithm in ("IRM", "deepCORAL", "CDAN")
    if needs_groups and not (config.train_loader == "group" and config.uniform_over_groups and config.distinct_groups):
        raise ConfigError(
            f"--algorithm {config.algorithm} compares domains within a batch: it needs --train_loader group, "
            f"--uniform_over_groups true and --distinct_groups true, which are its defaults."
        )
    if config.algorithm == "groupDRO" and not config.uniform_over_groups:
        raise ConfigError("--algorithm groupDRO needs --uniform_over_groups true, which is its default.")
    given = [
        name
        for name in ("cdan_classifier_lr", "cdan_featurizer_lr", "cdan_discriminator_lr")
        if getattr(config, name) is not None
    ]
    if given and config.algorithm != "CDAN":
        raise ConfigError(f"--{given[0]} goes with --algorithm CDAN, not {config.algorithm}.")


def _not_negative(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"{word!r}: a number of at least 0 is expected")
    return value


def build_erm(inputs: AlgorithmInputs) -> SingleModelAlgorithm:
    """Empirical risk minimization."""
    from wilds_targeted.algorithms.erm import ERM

    return ERM(inputs)


def build_group_dro(inputs: AlgorithmInputs) -> SingleModelAlgorithm:
    """Group distributionally robust optimization."""
    from wilds_targeted.algorithms.group_dro import GroupDRO

    return GroupDRO(inputs)


def build_deep_coral(inputs: AlgorithmInputs) -> SingleModelAlgorithm:
    """Deep CORAL."""
    from wilds_targeted.algorithms.deep_coral import DeepCORAL

    return DeepCORAL(inputs)


def build_irm(inputs: AlgorithmInputs) -> SingleModelAlgorithm:
    """Invariant risk minimization."""
    from wilds_targeted.algorithms.irm import IRM

    return IRM(inputs)


def build_dann(inputs: AlgorithmInputs) -> SingleModelAlgorithm:
    """Domain-adversarial training."""
    from wilds_targeted.algorithms.adversarial import DANN

    return DANN(inputs)


def build_cdan(inputs: AlgorithmInputs) -> SingleModelAlgorithm:
    """Conditional domain-adversarial training."""
    from wilds_targeted.algorithms.adversarial import CDAN

    return CDAN(inputs)
