"""A picture of what a transform does: originals and draws side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from wilds_targeted.errors import DataError
from wilds_targeted.example import load_example
from wilds_targeted.pipeline import build_pipeline
from wilds_targeted.registry import get_registry

TILE_HEIGHT = 150
GAP = 6
INK = (34, 34, 34)
FAINT = (110, 110, 110)
PAPER = (255, 255, 255)


def draw_preview(
    name: str, dataset: Any, *, rows: int = 6, draws: int = 5, seed: int = 0, parameters: dict[str, Any] | None = None
) -> Image.Image:
    """Training examples in the first column, draws of the augmentation beside them.

    Every draw applies the augmentation (probability 1), without the flip that may accompany it in training.

    Args:
        name: Registered transform.
        dataset: The full `WILDSDataset`.
        rows: How many examples, of different classes as far as there are any.
        draws: How many draws of each.
        seed: Chooses examples and draws.
        parameters: The transform's parameters.
    """
    pipeline = build_pipeline([name], dataset, base=None, parameters=parameters)
    pipeline.flip = False
    rng = np.random.default_rng(seed)
    lines = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for index in spread_over_classes(dataset, rows, rng):
            original = load_example(dataset, index)
            tiles = [_tile(original.x), *(_tile(pipeline.augment(original)) for _ in range(draws))]
            lines.append((f"row {index}, class {int(original.y)}", tiles))
    spec = get_registry().transforms.find(name)
    title = f"{name} ({spec.kind.value}) on {dataset.dataset_name}"
    return _sheet(title, [f"randomizes {spec.randomizes}", f"preserves {spec.preserves}"], lines)


def spread_over_classes(dataset: Any, count: int, rng: np.random.Generator) -> list[int]:
    """Random training rows, one of each class in turn; the classes in random order, class 0 last.

    In the data sets that the paper augments class 0 is the empty one, which most augmentations leave alone.
    """
    training = np.flatnonzero(np.asarray(dataset.split_array) == dataset.split_dict["train"])
    if len(training) == 0:
        raise DataError(f"the training split of {dataset.dataset_name} is empty: there is nothing to preview.")
    labels = np.asarray(dataset.y_array)[training]
    classes = sorted(rng.permutation(np.unique(labels)).tolist(), key=lambda label: label == 0)
    queues = [rng.permutation(training[labels == label]).tolist() for label in classes]
    chosen: list[int] = []
    while len(chosen) < min(count, len(training)):
        chosen += [queue.pop() for queue in queues if queue]
    return chosen[:count]


def _tile(x: Any) -> Image.Image:
    """Any input that is a picture, at the height of a tile."""
    if not isinstance(x, Image.Image):
        pixels = np.asarray(x, dtype=np.float64)
        if pixels.ndim != 3 or pixels.shape[0] not in (1, 3):
            raise DataError(f"a preview shows images; this data set's inputs have the shape {pixels.shape}.")
        span = pixels.max() - pixels.min() or 1.0
        scaled = (255 * (pixels - pixels.min()) / span).astype(np.uint8)
        x = Image.fromarray(np.broadcast_to(scaled, (3, *scaled.shape[1:])).transpose(1, 2, 0).copy())
    width = max(1, round(x.width * TILE_HEIGHT / x.height))
    tile: Image.Image = x.convert("RGB")
    return tile.resize((width, TILE_HEIGHT), Image.Resampling.LANCZOS)


def _sheet(title: str, subtitles: list[str], lines: list[tuple[str, list[Image.Image]]]) -> Image.Image:
    large, small = ImageFont.load_default(size=20), ImageFont.load_default(size=14)
    columns = len(lines[0][1])
    width = max(tile.width for _, tiles in lines for tile in tiles)
    top = 40 + 22 * len(subtitles) + 26
    row_height = TILE_HEIGHT + 20 + GAP
    sheet = Image.new("RGB", (GAP + columns * (width + GAP) + 2 * GAP, top + len(lines) * row_height + GAP), PAPER)
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
        for left, tile in zip(lefts, tiles, strict=True):
            sheet.paste(tile, (left, above))
        pen.text((GAP, above + TILE_HEIGHT + 2), caption, FAINT, small)
    return sheet
