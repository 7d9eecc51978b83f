"""Sample pictures before and after each method, as data for a page."""

from __future__ import annotations

import base64
import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image

from wilds_targeted.example import load_example
from wilds_targeted.experiments.plan import Method
from wilds_targeted.preview import build_augmenter, spread_over_classes
from wilds_targeted.registry import get_registry

LARGEST_SIDE = 256


@dataclass(frozen=True)
class Sample:
    """One example.

    Args:
        caption: What it shows.
        original: The picture, as a ``data:`` address.
        draws: For each method, in the order of `Samples.titles`, its draws.
    """

    caption: str
    original: str
    draws: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Samples:
    """Some examples, and what the methods that change pictures make of them."""

    titles: tuple[str, ...]
    examples: tuple[Sample, ...]


def draw_samples(dataset: Any, methods: Sequence[Method], *, rows: int = 4, draws: int = 2, seed: int = 0) -> Samples:
    """Training examples of different classes, and draws of every registered transform among the methods.

    Every draw applies the augmentation (probability 1), without the flip that accompanies it in training.
    """
    registered = [method for method in methods if method.transform in get_registry().transforms]
    with contextlib.redirect_stderr(io.StringIO()):  # what builders tell belongs to a run's own output
        augmenters = [build_augmenter(method.transform, dataset) for method in registered]
    chosen = spread_over_classes(dataset, rows, np.random.default_rng(seed))
    examples = [load_example(dataset, index) for index in chosen]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        drawn = [[augment(examples) for _ in range(draws)] for augment in augmenters]
    return Samples(
        tuple(method.title for method in registered),
        tuple(
            Sample(
                f"class {int(example.y)}",
                data_address(example.x),
                tuple(tuple(data_address(draw[row]) for draw in by_method) for by_method in drawn),
            )
            for row, example in enumerate(examples)
        ),
    )


def count_images(dataset: Any) -> dict[str, tuple[int, int]]:
    """For each split, how many domains and how many images."""
    field = get_registry().datasets[dataset.dataset_name].defaults["groupby_fields"][0]
    domains = np.asarray(dataset.metadata_array[:, dataset.metadata_fields.index(field)])
    rows = {split: np.asarray(dataset.split_array) == number for split, number in dataset.split_dict.items()}
    return {split: (len(np.unique(domains[mine])), int(mine.sum())) for split, mine in rows.items()}


def data_address(x: Any) -> str:
    """A picture as the address that holds it."""
    image: Image.Image = x.convert("RGB")
    image.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=88)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
