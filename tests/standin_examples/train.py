"""Stand-in for WILDS's loops over epochs and batches."""
# ruff: noqa: I001
# The order of the imports is WILDS's: the bridge's hooks depend on it.

import torch
from tqdm import tqdm
import math

from configs.supported import process_outputs_functions
from utils import (
    save_model,
    save_pred,
    get_pred_prefix,
    get_model_prefix,
    collate_list,
    detach_and_clone,
)


def run_batches(dataset, config, step, after_batch=None):
    """Run `step(batch, is_last)` on all batches; return metrics, text, predictions, how many batches."""
    loader = tqdm(dataset["loader"]) if config.progress_bar else dataset["loader"]
    process = process_outputs_functions[config.process_outputs_function]
    predicted, true, metadata = [], [], []
    n_batches = len(loader)
    for number, batch in enumerate(loader, start=1):
        results = detach_and_clone(step(batch, number == n_batches))
        predicted.append(process(results["y_pred"]) if process else results["y_pred"])
        true.append(results["y_true"])
        metadata.append(results["metadata"])
        if after_batch is not None:
            after_batch(number)
    predicted = collate_list(predicted)
    metrics, text = dataset["dataset"].eval(predicted, collate_list(true), collate_list(metadata))
    return metrics, text, predicted, n_batches


def run_epoch(algorithm, dataset, general_logger, epoch, config, train, unlabeled_dataset=None):
    if dataset["verbose"]:
        general_logger.write(f"\n{dataset['name']}:\n")
    torch.set_grad_enabled(train)
    per_step = config.gradient_accumulation_steps if train else 1

    if train:
        algorithm.train()

        def step(batch, is_last):
            return algorithm.update(batch, is_epoch_end=is_last)

        def after_batch(number):
            if number / per_step % config.log_every == 0:
                log_results(algorithm, dataset, general_logger, epoch, number // per_step)
    else:
        algorithm.eval()
        after_batch = None

        def step(batch, is_last):
            return algorithm.evaluate(batch)

    metrics, text, predicted, n_batches = run_batches(dataset, config, step, after_batch)
    if dataset["split"] == config.scheduler_metric_split:
        algorithm.step_schedulers(is_epoch=True, metrics=metrics, log_access=not train)
    log_results(algorithm, dataset, general_logger, epoch, math.ceil(n_batches / per_step))
    metrics["epoch"] = epoch
    dataset["eval_logger"].log(metrics)
    if dataset["verbose"]:
        general_logger.write(f"Metrics of the epoch:\n{text}")
    return metrics, predicted


def train(algorithm, datasets, general_logger, config, epoch_offset, best_val_metric, unlabeled_dataset=None):
    others = [split for split in datasets if split not in ("train", "val")]
    if not config.evaluate_all_splits:
        others = config.eval_splits
    for epoch in range(epoch_offset, config.n_epochs):
        general_logger.write(f"\nEpoch [{epoch}]:\n")
        run_epoch(algorithm, datasets["train"], general_logger, epoch, config, train=True)
        metrics, predicted = run_epoch(algorithm, datasets["val"], general_logger, epoch, config, train=False)
        value = metrics[config.val_metric]
        general_logger.write(f"{config.val_metric} on val: {value:.3f}\n")

        sign = -1 if config.val_metric_decreasing else 1
        is_best = best_val_metric is None or sign * value > sign * best_val_metric
        if is_best:
            best_val_metric = value
        save_model_if_needed(algorithm, datasets["val"], epoch, config, is_best, best_val_metric)
        save_pred_if_needed(predicted, datasets["val"], epoch, config, is_best)
        for split in others:
            _, predicted = run_epoch(algorithm, datasets[split], general_logger, epoch, config, train=False)
            save_pred_if_needed(predicted, datasets[split], epoch, config, is_best)


def evaluate(algorithm, datasets, epoch, general_logger, config, is_best):
    torch.set_grad_enabled(False)
    algorithm.eval()
    chosen = datasets if config.evaluate_all_splits else config.eval_splits
    for split in (name for name in datasets if name in chosen):
        dataset = datasets[split]
        metrics, text, predicted, _ = run_batches(dataset, config, lambda batch, is_last: algorithm.evaluate(batch))
        metrics["epoch"] = epoch
        dataset["eval_logger"].log(metrics)
        general_logger.write(f"{split}, epoch {epoch}:\n{text}")
        if split != "train":  # shuffled, so nobody could tell which prediction belongs to which image
            save_pred_if_needed(predicted, dataset, epoch, config, is_best, force_save=True)


def log_results(algorithm, dataset, general_logger, epoch, effective_batch_idx):
    if not algorithm.has_log:
        return
    dataset["algo_logger"].log({**algorithm.get_log(), "epoch": epoch, "batch": effective_batch_idx})
    if dataset["verbose"]:
        general_logger.write(algorithm.get_pretty_log_str())
    algorithm.reset_log()


def _due(epoch, config):
    return config.save_step is not None and (epoch + 1) % config.save_step == 0


def save_pred_if_needed(y_pred, dataset, epoch, config, is_best, force_save=False):
    if not config.save_pred:
        return
    names = {
        epoch: force_save or _due(epoch, config),
        "last": config.save_last and not force_save,
        "best": config.save_best and is_best,
    }
    for name, wanted in names.items():
        if wanted:
            save_pred(y_pred, f"{get_pred_prefix(dataset, config)}epoch:{name}_pred")


def save_model_if_needed(algorithm, dataset, epoch, config, is_best, best_val_metric):
    names = {
        epoch: _due(epoch, config),
        "last": config.save_last,
        "best": config.save_best and is_best,
    }
    for name, wanted in names.items():
        if wanted:
            path = f"{get_model_prefix(dataset, config)}epoch:{name}_model.pth"
            save_model(algorithm, epoch, best_val_metric, path)
