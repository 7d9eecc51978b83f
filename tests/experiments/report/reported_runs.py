"""Log folders with numbers that a person can check, as WILDS's script lays them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

HEAD = {
    "dataset": "iwildcam",
    "split_scheme": "official",
    "dataset_kwargs": "{}",
    "frac": "1.0",
    "version": "None",
    "batch_size": "24",
    "groupby_fields": "['location']",
    "transform": "image_base",
    "additional_train_transform": "None",
    "model": "resnet50",
    "model_kwargs": "{'pretrained': True}",
    "algorithm": "ERM",
    "coral_penalty_weight": "1.0",
    "n_epochs": "2",
    "optimizer": "Adam",
    "lr": "3e-05",
    "weight_decay": "0.0",
    "val_metric": "F1-macro_all",
    "val_metric_decreasing": "False",
    "eval_only": "False",
    "device": "cpu",
    "seed": "0",
    "log_dir": "logs",
    "resume": "False",
    "transform_p": "0.5",
}

Scores = Mapping[str, Sequence[float]]


def write_log(folder: Path, scores: Scores, **settings: object) -> Path:
    """A log folder; for each split its macro F1 by epoch, in which validation is as good as not given."""
    folder.mkdir(parents=True)
    head = {**HEAD, **{name: str(value) for name, value in settings.items()}}
    lines = "".join(f"{name.replace('_', ' ').capitalize()}: {value}\n" for name, value in head.items())
    (folder / "log.txt").write_text(f"{lines}\nTrain data...\n    n = 10\n")
    for split, values in {"val": (0.1, 0.2), **scores}.items():
        rows = "".join(f"{epoch},{value}\n" for epoch, value in enumerate(values))
        (folder / f"{split}_eval.csv").write_text(f"epoch,F1-macro_all\n{rows}")
    return folder


def write_two_methods(root: Path) -> Path:
    """Three unaugmented runs and two with Copy-Paste; the second epoch is the selected one."""
    plain = [(0.40, 0.20), (0.50, 0.30), (0.60, 0.25)]
    pasted = [(0.44, 0.30), (0.52, 0.42)]
    for seed, (in_domain, out_of_domain) in enumerate(plain):
        write_log(root / f"plain-{seed}", {"id_test": (0.9, in_domain), "test": (0.9, out_of_domain)}, seed=seed)
    for seed, (in_domain, out_of_domain) in enumerate(pasted):
        scores = {"id_test": (0.9, in_domain), "test": (0.9, out_of_domain)}
        write_log(root / f"pasted-{seed}", scores, seed=seed, transform="copypaste_samey", lr="1e-05")
    return root
