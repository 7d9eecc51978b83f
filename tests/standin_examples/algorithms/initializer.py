"""Stand-in for WILDS's way from a name to an algorithm."""
# ruff: noqa: I001, F401
# The imports, their order and those left unused are WILDS's: the bridge's hooks depend on it.

import math
from wilds.common.utils import get_counts
from algorithms.ERM import ERM
from algorithms.deepCORAL import DeepCORAL
from configs.supported import algo_log_metrics, losses
from losses import initialize_loss


def initialize_algorithm(config, datasets, train_grouper, unlabeled_dataset=None):
    if config.algorithm == "ERM":
        algorithm_class = ERM
    elif config.algorithm == "deepCORAL":
        algorithm_class = DeepCORAL
    else:
        raise ValueError(f"The stand-in has no algorithm {config.algorithm}.")

    train = datasets["train"]
    steps_per_epoch = math.ceil(len(train["loader"]) / config.gradient_accumulation_steps)
    return algorithm_class(
        config=config,
        d_out=infer_d_out(train["dataset"], config),
        grouper=train_grouper,
        loss=initialize_loss(config.loss_function, config),
        metric=algo_log_metrics[config.algo_log_metric],
        n_train_steps=steps_per_epoch * config.n_epochs,
    )


def infer_d_out(train_dataset, config):
    """Return the number of outputs: one per class, or else one per target."""
    one_label = train_dataset.is_classification and train_dataset.y_size in (1, None)
    return train_dataset.n_classes if one_label else train_dataset.y_size
