"""Log folders made by hand, in the runner's own formats: seeded predictions, scored by WILDS's own evaluator.

Of three epochs, epoch 1 is the best on `val` and epoch 2 the best on every other split; there, as many more are wrong
as the seed's remainder by three. Files called ``epoch:N`` stand
beside ``epoch:best``, as ``--save_step 1`` leaves them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from wilds_targeted.runner.defaults import complete
from wilds_targeted.runner.flags import parse
from wilds_targeted.runner.logs import TableLog
from wilds_targeted.runner.outputs import file_prefix, save_predictions

Copy = Callable[..., Path]

BEST, BEST_ON_TEST, LAST = 1, 2, 2
_WRONG = {"val": (0.5, 0.2, 0.35)}
_WRONG_ELSEWHERE = (0.5, 0.35, 0.2)


def make_run(folder: Path, dataset: Any, seed: int, *flags: str) -> Path:
    """A finished run of that data set with that seed."""
    folder.mkdir(parents=True)
    name = dataset.dataset_name
    words = f"--dataset {name} --algorithm ERM --root_dir data --log_dir {folder} --seed {seed} --n_epochs 3".split()
    config = complete(parse([*words, *flags]))
    told = [f"{key.replace('_', ' ').capitalize()}: {value}\n" for key, value in vars(config).items()]
    (folder / "log.txt").write_text("".join([*told, "\n", "Training data…\n"]))
    for split in dataset.split_dict:
        subset = dataset.get_subset(split)
        table = TableLog(folder / f"{split}_eval.csv")
        for epoch, share in enumerate(_WRONG.get(split, _WRONG_ELSEWHERE)):
            wrong = round(share * len(subset)) + (0 if split == "val" else seed % 3)
            labels = guesses(subset.y_array, dataset.n_classes, wrong, f"{seed} {split} {epoch}")
            results, _ = dataset.eval(labels, subset.y_array, subset.metadata_array)
            table.add({**results, "epoch": epoch})
            if split != "train":
                names = [epoch, *(["best"] if epoch == BEST else []), *(["last"] if epoch == LAST else [])]
                for each in names:
                    save_predictions(labels, file_prefix(config, name, split), each)
        table.close()
    return folder


def make_runs(folder: Path, dataset: Any, seeds: Iterable[int], *flags: str) -> Path:
    """A folder with a run for each seed."""
    for seed in seeds:
        make_run(folder / f"seed{seed}", dataset, seed, *flags)
    return folder


def guesses(truth: torch.Tensor, n_classes: int, wrong: int, key: str) -> torch.Tensor:
    """The labels, of which that many are wrong."""
    generator = random.Random(key)
    labels = truth.clone()
    for row in generator.sample(range(len(labels)), wrong):
        labels[row] = (int(labels[row]) + generator.randrange(1, n_classes)) % n_classes
    return labels
