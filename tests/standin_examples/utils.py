"""Stand-in for WILDS's odds and ends: command line values, logs, files."""
# ruff: noqa: I001
# The order of the imports is WILDS's: the bridge's hooks depend on it.

import sys
import csv
import argparse
import random
from pathlib import Path
import numpy as np
import torch
import pandas as pd
import re


def _value(text):
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?(\d+\.\d*|\.\d+)", text):
        return float(text)
    return {"true": True, "True": True, "false": False, "False": False}.get(text, text)


class ParseKwargs(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        pairs = (item.split("=") for item in values)
        setattr(namespace, self.dest, {name: _value(text) for name, text in pairs})


def parse_bool(v):
    try:
        return {"true": True, "false": False}[v.lower()]
    except KeyError:
        raise argparse.ArgumentTypeError(f"neither true nor false: {v}") from None


def save_model(algorithm, epoch, best_val_metric, path):
    state = {"algorithm": algorithm.state_dict(), "epoch": epoch, "best_val_metric": best_val_metric}
    torch.save(state, path)


def load(module, path, device=None, tries=2):
    """Load an algorithm, or a model from an algorithm's file; return its epoch and best metric, or None."""
    state = torch.load(path, map_location=device)
    epoch, best = state.get("epoch"), state.get("best_val_metric")
    state = state.get("algorithm", state)
    wanted = module.state_dict().keys()
    if state.keys() != wanted:
        for prefix in ("model.", "model.0.", "featurizer."):
            shorter = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
            if wanted <= shorter.keys():
                state = {k: shorter[k] for k in wanted}
                break
    module.load_state_dict(state)
    return epoch, best


def log_group_data(datasets, grouper, logger):
    for entry in datasets.values():
        subset = entry["dataset"]
        logger.write(f"{entry['name']}: {len(subset)} examples\n")
        if grouper is not None:
            _, counts = grouper.metadata_to_group(subset.metadata_array, return_counts=True)
            for group, count in enumerate(counts.tolist()):
                logger.write(f"    {grouper.group_str(group)}: {count:.0f}\n")
    logger.flush()


class Logger:
    def __init__(self, fpath=None, mode="w"):
        self.streams = [sys.stdout]
        if fpath is not None:
            self.streams.append(Path(fpath).open(mode))  # noqa: SIM115

    def write(self, msg):
        for stream in self.streams:
            stream.write(msg)

    def flush(self):
        for stream in self.streams:
            stream.flush()

    def close(self):
        # WILDS closes the process's standard output, too, so that whoever prints afterwards fails. So do we,
        # but leave a stream alone that somebody put in its place.
        for stream in self.streams:
            if stream is not sys.stdout or stream is sys.__stdout__:
                stream.close()


class BatchLogger:
    def __init__(self, csv_path, mode="w", use_wandb=False):
        self.file = Path(csv_path).open(mode, newline="")  # noqa: SIM115
        self.writer = None

    def log(self, log_dict):
        if self.writer is None:
            first = [name for name in ("epoch", "batch") if name in log_dict]
            self.writer = csv.DictWriter(self.file, first + [k for k in log_dict if k not in first])
            if self.file.tell() == 0:
                self.writer.writeheader()
        self.writer.writerow(log_dict)
        self.flush()

    def flush(self):
        self.file.flush()

    def close(self):
        self.file.close()


def set_seed(seed):
    for seeder in (torch.manual_seed, np.random.seed, random.seed):
        seeder(seed)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True


def log_config(config, logger):
    lines = [f"{name.capitalize().replace('_', ' ')}: {value}" for name, value in vars(config).items()]
    logger.write("\n".join(lines) + "\n\n")


def save_pred(y_pred, path_prefix):
    pd.DataFrame(y_pred.numpy()).to_csv(f"{path_prefix}.csv", index=False, header=False)


def get_pred_prefix(dataset, config):
    name = f"{dataset['dataset'].dataset_name}_split:{dataset['split']}_seed:{config.seed}_"
    return str(Path(config.log_dir) / name)


def get_model_prefix(dataset, config):
    return str(Path(config.log_dir) / f"{dataset['dataset'].dataset_name}_seed:{config.seed}_")


def _map(obj, function):
    if isinstance(obj, dict):
        return {key: _map(value, function) for key, value in obj.items()}
    if isinstance(obj, list):
        return [_map(value, function) for value in obj]
    return obj if isinstance(obj, int | float) else function(obj)


def move_to(obj, device):
    return _map(obj, lambda thing: thing.to(device))


def detach_and_clone(obj):
    return _map(obj, lambda tensor: tensor.detach().clone())


def collate_list(vec):
    if torch.is_tensor(vec[0]):
        return torch.cat(vec)
    if isinstance(vec[0], dict):
        return {key: collate_list([item[key] for item in vec]) for key in vec[0]}
    return [item for part in vec for item in part]
