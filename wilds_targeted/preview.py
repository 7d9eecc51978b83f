"""A picture of what a transform does: originals and draws side by side."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from wilds_targeted.augmentations.pictures import demand_picture
from wilds_targeted.errors import DataError
from wilds_targeted.example import Batch, Example, load_example, training_rows
from wilds_targeted.mixing import Mixer, build_mixer
from wilds_targeted.pipeline import Pipeline, build_pipeline
from wilds_targeted.registry import get_registry

TILE_HEIGHT = 150
GAP = 6
INK = (34, 34, 34)
FAINT = (110, 110, 110)
PAPER = (255, 255, 255)

Augmenter = Callable[[Sequence[Example]], list[Any]]
"""From examples to what a transform makes of each: its ``x`` after one draw."""


def build_augmenter(name: str, dataset: Any, parameters: Mapping[str, Any] | None = None) -> Augmenter:
    """What a registered transform does, by itself: with probability 1, and without the flip that may accompany it.

    One that works on batches takes the examples as its batch.

    Args:
        name: Registered transform.
        dataset: The full `WILDSDataset`.
        parameters: The transform's parameters.
    """
    mixer = build_mixer([name], dataset, parameters=parameters)
    if mixer is not None:
        return functools.partial(_mix, name, mixer)
    pipeline = build_pipeline([name], dataset, base=None, parameters=parameters)
    pipeline.flip = False
    return functools.partial(_augment, pipeline)


def _augment(pipeline: Pipeline, examples: Sequence[Example]) -> list[Any]:
    return [pipeline.augment(example) for example in examples]


def _mix(name: str, mixer: Mixer, examples: Sequence[Example]) -> list[Any]:
    from torchvision.transforms.functional import to_pil_image, to_tensor

    pictures = [demand_picture(example, name).convert("RGB") for example in examples]
    x = torch.stack([to_tensor(picture.resize(pictures[0].size)) for picture in pictures])
    labels = torch.tensor([int(example.y) for example in examples])
    mixed = mixer(Batch(x, labels, torch.stack([example.metadata for example in examples])))
    return pictures if mixed is None else [to_pil_image(each) for each in mixed.x]


def draw_preview(
    name: str, dataset: Any, *, rows: int = 6, draws: int = 5, seed: int = 0, parameters: dict[str, Any] | None = None
) -> Image.Image:
    """Training examples in the first column, draws of the augmentation beside them.

    Every draw applies the augmentation (probability 1), without the flip that may accompany it in training. An
    augmentation of batches gets the examples of all rows as a batch.

    Args:
        name: Registered transform.
        dataset: The full `WILDSDataset`.
        rows: How many examples, of different classes as far as there are any.
        draws: How many draws of each.
        seed: Chooses examples and draws.
        parameters: The transform's parameters.
    """
    augment = build_augmenter(name, dataset, parameters)
    # One more than a single row, so that there is somebody to mix it with.
    chosen = spread_over_classes(dataset, max(rows, 2), np.random.default_rng(seed))
    examples = [load_example(dataset, index) for index in chosen]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        drawn = [augment(examples) for _ in range(draws)]
    lines = [
        (f"row {example.index}, class {int(example.y)}", [tile(example.x), *(tile(draw[row]) for draw in drawn)])
        for row, example in enumerate(examples[:rows])
    ]
    spec = get_registry().transforms.find(name)
    title = f"{name} ({spec.kind.value}) on {dataset.dataset_name}"
    return _sheet(title, [f"randomizes {spec.randomizes}", f"preserves {spec.preserves}"], lines)


def spread_over_classes(dataset: Any, count: int, rng: np.random.Generator) -> list[int]:
    """Random training rows, one of each class in turn; the classes in random order, class 0 last.

    In iWildCam and BirdCalls class 0 is the empty one, which most augmentations leave alone.
    """
    training = training_rows(dataset)
    if len(training) == 0:
        raise DataError(f"the training split of {dataset.dataset_name} is empty: there is nothing to preview.")
    labels = np.asarray(dataset.y_array)[training]
    if labels.ndim != 1:
        raise DataError(f"a preview shows examples by class, and {dataset.dataset_name} has several labels for each.")
    classes = sorted(rng.permutation(np.unique(labels)).tolist(), key=lambda label: label == 0)
    queues = [rng.permutation(training[labels == label]).tolist() for label in classes]
    chosen: list[int] = []
    while len(chosen) < min(count, len(training)):
        chosen += [queue.pop() for queue in queues if queue]
    return chosen[:count]


def tile(x: Any, height: int = TILE_HEIGHT) -> Image.Image:
    """Any input that is a picture, at the height of a tile."""
    if not isinstance(x, Image.Image):
        pixels = np.asarray(x, dtype=np.float64)
        if pixels.ndim != 3 or pixels.shape[0] not in (1, 3):
            raise DataError(f"a preview shows images; this data set's inputs have the shape {pixels.shape}.")
        span = pixels.max() - pixels.min() or 1.0
        scaled = (255 * (pixels - pixels.min()) / span).astype(np.uint8)
        x = Image.fromarray(np.broadcast_to(scaled, (3, *scaled.shape[1:])).transpose(1, 2, 0).copy())
    width = max(1, round(x.width * height / x.height))
    picture: Image.Image = x.convert("RGB")
    return picture.resize((width, height), Image.Resampling.LANCZOS)


def _sheet(title: str, subtitles: list[str], lines: list[tuple[str, list[Image.Image]]]) -> Image.Image:
    large, small = ImageFont.load_default(size=20), ImageFont.load_default(size=14)
    columns = len(lines[0][1])
    width = max(each.width for _, tiles in lines for each in tiles)
    top = 40 + 22 * len(subtitles) + 26
    row_height = TILE_HEIGHT + 20 + GAP
    longest = max(large.getlength(title), *(small.getlength(subtitle) for subtitle in subtitles))
    across = max(GAP + columns * (width + GAP) + 2 * GAP, math.ceil(longest) + 2 * GAP)
    sheet = Image.new("RGB", (across, top + len(lines) * row_height + GAP), PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((GAP, 8), title, INK, large)
    for position, subtitle in enumerate(subtitles):
        pen.text((GAP, 38 + 22 * position), subtitle, FAINT, small)
    # The originals stand a little apart from the draws.
    lefts = [GAP + column * (width + GAP) + (2 * GAP if column else 0) for column in range(columns)]
    for column, left in enumerate(lefts):
        pen.text((left, top - 20), "original" if column == 0 else f"draw {column}", INK, small)
    for position, (caption, tiles) in enumerate(lines):
        above = top + position * row_height
        for left, each in zip(lefts, tiles, strict=True):
            sheet.paste(each, (left, above))
        pen.text((GAP, above + TILE_HEIGHT + 2), caption, FAINT, small)
    return sheet
