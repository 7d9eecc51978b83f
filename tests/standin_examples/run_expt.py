"""Stand-in for WILDS's training script: the same flags and files, none of its code."""
# ruff: noqa: I001, F401
# The imports, their order and those left unused are WILDS's: the bridge's hooks depend on it.

import os
import time
import argparse
import pandas as pd
import torch
import torch.nn as nn
import torchvision
import sys
from collections import defaultdict

import wilds
from wilds.common.data_loaders import get_train_loader, get_eval_loader
from wilds.common.grouper import CombinatorialGrouper
from wilds.datasets.unlabeled.wilds_unlabeled_dataset import WILDSPseudolabeledSubset

from utils import (
    set_seed,
    Logger,
    BatchLogger,
    log_config,
    ParseKwargs,
    load,
    log_group_data,
    parse_bool,
    get_model_prefix,
    move_to,
)
from train import train, evaluate
from algorithms.initializer import initialize_algorithm, infer_d_out
from transforms import initialize_transform
from models.initializer import initialize_model
from configs.utils import populate_defaults
import configs.supported as supported

from pathlib import Path


def add_flags(parser):
    flag = parser.add_argument
    boolean = {"type": parse_bool, "const": True, "nargs": "?"}

    def kwargs_flag(name, **more):  # a new dictionary for each: defaults are filled in there
        flag(name, nargs="*", action=ParseKwargs, default={}, **more)

    flag("-d", "--dataset", choices=wilds.supported_datasets, required=True)
    flag("--algorithm", required=True, choices=supported.algorithms)
    flag("--root_dir", required=True, help="folder of the data sets")

    # data
    flag("--split_scheme", help="one of the data set's ways to split")
    kwargs_flag("--dataset_kwargs", help="k=v pairs for the data set")
    flag("--download", default=False, **boolean, help="fetch missing data")
    flag("--frac", type=float, default=1.0, help="keep this share of each split, for trying things out")
    flag("--version", default=None, type=str, help="which release of the data")
    flag("--unlabeled_split", default=None, type=str, choices=wilds.unlabeled_splits, help="refused here")
    flag("--unlabeled_version", default=None, type=str)
    flag("--use_unlabeled_y", default=False, **boolean, help="refused here")

    # loaders
    kwargs_flag("--loader_kwargs")
    kwargs_flag("--unlabeled_loader_kwargs")
    flag("--train_loader", choices=["standard", "group"])
    flag("--uniform_over_groups", **boolean, help="draw each group equally often")
    flag("--distinct_groups", **boolean, help="no group twice in a batch")
    flag("--n_groups_per_batch", type=int)
    flag("--unlabeled_n_groups_per_batch", type=int)
    flag("--batch_size", type=int)
    flag("--unlabeled_batch_size", type=int)
    flag("--eval_loader", choices=["standard"], default="standard")
    flag("--gradient_accumulation_steps", type=int, default=1, help="batches per optimizer step")

    # model
    flag("--model", choices=supported.models)
    kwargs_flag("--model_kwargs", help="k=v pairs for the model")
    flag("--noisystudent_add_dropout", **boolean)
    flag("--noisystudent_dropout_rate", type=float)
    flag("--pretrained_model_path", default=None, type=str, help="weights to start from")
    flag("--load_featurizer_only", default=False, **boolean, help="leave the classifier's weights out")
    flag("--teacher_model_path", type=str, help="refused here")

    # transforms
    flag("--transform", choices=supported.transforms)
    flag("--additional_train_transform", choices=supported.additional_transforms, help="augmentation")
    flag("--target_resolution", nargs="+", type=int, help="height and width the model sees")
    flag("--resize_scale", type=float)
    flag("--max_token_length", type=int)
    flag("--randaugment_n", type=int, help="operations per image")

    # objective and algorithm
    flag("--loss_function", choices=supported.losses)
    kwargs_flag("--loss_kwargs", help="k=v pairs for the loss")
    flag("--groupby_fields", nargs="+")
    flag("--group_dro_step_size", type=float)
    flag("--coral_penalty_weight", type=float)
    flag("--dann_penalty_weight", type=float)
    flag("--dann_classifier_lr", type=float)
    flag("--dann_featurizer_lr", type=float)
    flag("--dann_discriminator_lr", type=float)
    flag("--afn_penalty_weight", type=float)
    flag("--safn_delta_r", type=float)
    flag("--hafn_r", type=float)
    flag("--use_hafn", default=False, **boolean)
    flag("--irm_lambda", type=float)
    flag("--irm_penalty_anneal_iters", type=int)
    flag("--self_training_lambda", type=float)
    flag("--self_training_threshold", type=float)
    flag("--pseudolabel_T2", type=float)
    flag("--soft_pseudolabels", default=False, **boolean)
    flag("--algo_log_metric")
    flag("--process_pseudolabels_function", choices=supported.process_pseudolabels_functions)

    # selection, optimization
    flag("--val_metric")
    flag("--val_metric_decreasing", **boolean)
    flag("--n_epochs", type=int)
    flag("--optimizer", choices=supported.optimizers)
    flag("--lr", type=float)
    flag("--weight_decay", type=float)
    flag("--max_grad_norm", type=float)
    kwargs_flag("--optimizer_kwargs", help="k=v pairs for the optimizer")
    flag("--scheduler", choices=supported.schedulers)
    kwargs_flag("--scheduler_kwargs", help="k=v pairs for the scheduler")
    flag("--scheduler_metric_split", choices=["train", "val"], default="val")
    flag("--scheduler_metric_name")

    # evaluation
    flag("--process_outputs_function", choices=supported.process_outputs_functions)
    flag("--evaluate_all_splits", **boolean, default=True)
    flag("--eval_splits", nargs="+", default=[])
    flag("--eval_only", **boolean, default=False)
    flag("--eval_epoch", default=None, type=int, help="with --eval_only: this epoch, not the best")

    # the rest
    flag("--device", type=int, nargs="+", default=[0])
    flag("--seed", type=int, default=0)
    flag("--log_dir", default="./logs")
    flag("--log_every", default=50, type=int)
    flag("--save_step", type=int)
    flag("--save_best", **boolean, default=True)
    flag("--save_last", **boolean, default=True)
    flag("--save_pred", **boolean, default=True)
    flag("--no_group_logging", **boolean)
    flag("--progress_bar", **boolean, default=False)
    flag("--resume", **boolean, default=False, help="go on from the last model saved in the log folder")
    flag("--use_wandb", **boolean, default=False, help="refused here")
    flag("--wandb_api_key_path", type=str)
    kwargs_flag("--wandb_kwargs")


def make_splits(config, full_dataset, train_transform, eval_transform, grouper, mode):
    """Return a dictionary for each split: subset, loader, names and loggers."""
    datasets = defaultdict(dict)
    for split in full_dataset.split_dict:
        entry = datasets[split]
        transform = train_transform if split == "train" else eval_transform
        entry["dataset"] = full_dataset.get_subset(split, frac=config.frac, transform=transform)
        if split == "train":
            entry["loader"] = get_train_loader(
                loader=config.train_loader,
                dataset=entry["dataset"],
                batch_size=config.batch_size,
                uniform_over_groups=config.uniform_over_groups,
                grouper=grouper,
                distinct_groups=config.distinct_groups,
                n_groups_per_batch=config.n_groups_per_batch,
                **config.loader_kwargs,
            )
        else:
            entry["loader"] = get_eval_loader(
                loader=config.eval_loader,
                dataset=entry["dataset"],
                grouper=grouper,
                batch_size=config.batch_size,
                **config.loader_kwargs,
            )
        entry["split"], entry["name"] = split, full_dataset.split_names[split]
        entry["verbose"] = split in ("train", "val")
        for kind in ("eval", "algo"):
            entry[f"{kind}_logger"] = BatchLogger(Path(config.log_dir) / f"{split}_{kind}.csv", mode=mode)
    return datasets


def main():
    parser = argparse.ArgumentParser()
    add_flags(parser)
    config = parser.parse_args()
    config = populate_defaults(config)
    if config.unlabeled_split or config.teacher_model_path or config.use_wandb:
        raise SystemExit("The stand-in has neither unlabeled data nor wandb.")

    config.use_data_parallel = False
    if torch.cuda.is_available():
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(str(number) for number in config.device)
    config.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    log_dir = Path(config.log_dir)
    mode = "a" if log_dir.exists() and (config.resume or config.eval_only) else "w"
    log_dir.mkdir(parents=True, exist_ok=True)
    logger = Logger(log_dir / "log.txt", mode)
    log_config(config, logger)
    set_seed(config.seed)

    full_dataset = wilds.get_dataset(
        dataset=config.dataset,
        version=config.version,
        root_dir=config.root_dir,
        download=config.download,
        split_scheme=config.split_scheme,
        **config.dataset_kwargs,
    )
    train_transform = initialize_transform(
        transform_name=config.transform,
        config=config,
        dataset=full_dataset,
        additional_transform_name=config.additional_train_transform,
        is_training=True,
    )
    eval_transform = initialize_transform(
        transform_name=config.transform, config=config, dataset=full_dataset, is_training=False
    )
    train_grouper = CombinatorialGrouper(dataset=full_dataset, groupby_fields=config.groupby_fields)
    datasets = make_splits(config, full_dataset, train_transform, eval_transform, train_grouper, mode)

    log_grouper = None if config.no_group_logging else train_grouper
    few_classes = full_dataset.is_classification and full_dataset.y_size == 1 and full_dataset.n_classes <= 10
    if log_grouper is None and few_classes:
        log_grouper = CombinatorialGrouper(dataset=full_dataset, groupby_fields=["y"])
    log_group_data(datasets, log_grouper, logger)

    algorithm = initialize_algorithm(
        config=config, datasets=datasets, train_grouper=train_grouper, unlabeled_dataset=None
    )

    prefix = get_model_prefix(datasets["train"], config)
    if config.eval_only:
        wanted = "best" if config.eval_epoch is None else config.eval_epoch
        epoch, _ = load(algorithm, f"{prefix}epoch:{wanted}_model.pth", device=config.device)
        evaluate(
            algorithm=algorithm,
            datasets=datasets,
            epoch=epoch,
            general_logger=logger,
            config=config,
            is_best=True,
        )
    else:
        epoch_offset, best_val_metric = 0, None
        last = Path(f"{prefix}epoch:last_model.pth")
        if config.resume and last.exists():
            last_epoch, best_val_metric = load(algorithm, last, device=config.device)
            epoch_offset = last_epoch + 1
            logger.write(f"Going on with epoch {epoch_offset}, best metric so far {best_val_metric}\n")
        train(
            algorithm=algorithm,
            datasets=datasets,
            general_logger=logger,
            config=config,
            epoch_offset=epoch_offset,
            best_val_metric=best_val_metric,
            unlabeled_dataset=None,
        )

    logger.close()
    for entry in datasets.values():
        entry["eval_logger"].close()
        entry["algo_logger"].close()


if __name__ == "__main__":
    main()
