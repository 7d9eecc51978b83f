"""Stand-in for WILDS's script that scores a folder of predictions."""
# ruff: noqa: I001
# The order of the imports is WILDS's: the bridge's hooks depend on it.

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from wilds import benchmark_datasets
from wilds import get_dataset
from wilds.datasets.wilds_dataset import WILDSDataset

# data set: how many seeds are asked for, which metrics are reported
_RULES = {"camelyon17": (10, ["acc_avg"]), "iwildcam": (3, ["F1-macro_all", "acc_avg"])}


def evaluate_benchmark(dataset_name: str, predictions_dir: str, output_dir: str, root_dir: str):
    """Score all seeds on all splits but train; write and return mean and standard deviation."""
    if dataset_name not in _RULES:
        raise ValueError(f"No rule to score {dataset_name} by.")
    n_seeds, metrics = _RULES[dataset_name]
    dataset = get_dataset(dataset=dataset_name, root_dir=root_dir, download=True)
    report = {}
    for split in dataset.split_dict:
        if split == "train":
            continue
        results = []
        for seed in range(n_seeds):
            pattern = f"{dataset_name}_split:{split}_seed:{seed}_*.csv"
            files = sorted(Path(predictions_dir).glob(pattern))
            if not files:
                raise FileNotFoundError(f"{predictions_dir} has no {pattern}")
            results.append(evaluate_replicate(dataset, split, get_predictions(files[0])))
        report[split] = {}
        for metric in metrics:
            values = [result[metric] for result in results]
            report[split] |= {metric: np.mean(values), f"{metric}_std": np.std(values, ddof=1)}
    (Path(output_dir) / f"{dataset_name}_results.json").write_text(json.dumps(report, indent=4))
    return report


def evaluate_replicate(dataset: WILDSDataset, split: str, predicted_labels: torch.Tensor):
    subset = dataset.get_subset(split)
    y_true = subset.y_array
    return dataset.eval(predicted_labels.reshape(y_true.shape), y_true, subset.metadata_array)[0]


def get_predictions(path):
    return torch.from_numpy(np.loadtxt(path, delimiter=",", ndmin=1)).long()


def main():
    for name in [args.dataset] if args.dataset else benchmark_datasets:
        folder = args.predictions_dir if args.dataset else str(Path(args.predictions_dir) / name)
        try:
            print(name, evaluate_benchmark(name, folder, args.output_dir, args.root_dir))
        except FileNotFoundError as error:
            if args.dataset:
                raise
            print(error)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("predictions_dir", type=str)
    parser.add_argument("output_dir", type=str)
    parser.add_argument("--dataset", type=str, choices=benchmark_datasets)
    parser.add_argument("--root_dir", type=str, default="data", help="folder of the data sets")
    args = parser.parse_args()
    main()
