"""One picture of everything registered: each transform on each miniature that it serves, before and after."""

from __future__ import annotations

import contextlib
import io
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from wilds_targeted.api import get_dataset
from wilds_targeted.example import load_example
from wilds_targeted.files import written_whole
from wilds_targeted.miniatures import MINIATURES, write_miniature
from wilds_targeted.preview import FAINT, GAP, INK, PAPER, build_augmenter, spread_over_classes, tile
from wilds_targeted.registry import get_registry
from wilds_targeted.specs import Kind, TransformSpec

NAMES_KEY = "transforms"

AFTERS = 2
"""How many draws stand beside each original."""

_TILE_HEIGHT, _TEXT_WIDTH, _LINE_LENGTH = 92, 420, 62
_ORDER = (Kind.TARGETED, Kind.DOMAIN_INVARIANT, Kind.GENERIC, Kind.DIAGNOSTIC)
_BATCH = 8
"""Of how many examples a batch is mixed; the first one is shown."""
_SIZES = {
    "iwildcam": {
        "val_cameras": 3,
        "test_cameras": 3,
        "images_per_camera": 40,
        "images_per_unseen_camera": 8,
        "width": 192,
        "height": 144,
    },
    "camelyon17": {"train_patches": 20, "id_val_patches": 2, "val_patches": 20, "test_patches": 20},
    "birdcalls": {
        "training_microphones": 2,
        "unseen_microphones": 1,
        "minutes_per_microphone": 4,
        "minutes_per_unseen_microphone": 1,
    },
}
"""What a sheet needs of a miniature: little, but in a size for the eye."""


def write_for_sheet(root_dir: str | Path, seed: int = 0) -> dict[str, Any]:
    """Write every miniature, small, into an empty folder.

    Returns:
        The data sets by name.
    """
    for name in MINIATURES:
        write_miniature(name, root_dir, seed=seed, **_SIZES[name])
    return {name: get_dataset(name, root_dir=root_dir) for name in MINIATURES}


@dataclass(frozen=True)
class ContactSheet:
    """The picture, the transforms on it, and those that serve none of its data sets."""

    image: Image.Image
    names: tuple[str, ...]
    left_out: tuple[str, ...]

    def save(self, path: str | Path) -> None:
        """Write a PNG file that also tells, under the key `NAMES_KEY`, the names on it."""
        facts = PngInfo()
        facts.add_text(NAMES_KEY, " ".join(self.names))
        with written_whole(path) as arriving:
            self.image.save(arriving, pnginfo=facts, optimize=True)


@dataclass(frozen=True)
class _Row:
    """One transform, and for each data set the original and the draws; none where it does not serve it."""

    spec: TransformSpec
    tiles: dict[str, list[Image.Image]]


def draw_contact_sheet(datasets: Mapping[str, Any], seed: int = 0) -> ContactSheet:
    """Every registered transform in a row: what it is, and on each data set an original and draws beside it.

    Args:
        datasets: By name; all rows show the same example of each.
        seed: Chooses examples and draws.
    """
    specs = sorted(get_registry().transforms.values(), key=lambda spec: (_ORDER.index(spec.kind), spec.name))
    served = [spec for spec in specs if any(map(spec.serves, datasets))]
    examples = {}
    for name, dataset in datasets.items():
        chosen = spread_over_classes(dataset, _BATCH, np.random.default_rng(seed))
        examples[name] = [load_example(dataset, index) for index in chosen]
    rows = []
    with torch.random.fork_rng(devices=[]), contextlib.redirect_stderr(io.StringIO()):  # builders have much to tell
        torch.manual_seed(seed)
        for spec in served:
            tiles = {}
            for name, dataset in datasets.items():
                if spec.serves(name):
                    augment = build_augmenter(spec.name, dataset)
                    pictures = [examples[name][0].x, *(augment(examples[name])[0] for _ in range(AFTERS))]
                    tiles[name] = [tile(picture, _TILE_HEIGHT) for picture in pictures]
            rows.append(_Row(spec, tiles))
    return ContactSheet(
        _lay_out(rows, list(datasets)),
        tuple(spec.name for spec in served),
        tuple(spec.name for spec in specs if spec not in served),
    )


def _lay_out(rows: list[_Row], datasets: list[str]) -> Image.Image:
    small, large = ImageFont.load_default(size=12), ImageFont.load_default(size=17)
    widths = {name: max(row.tiles[name][0].width for row in rows if name in row.tiles) for name in datasets}
    lefts, right = {}, _TEXT_WIDTH
    for name in datasets:
        lefts[name] = [right + number * (widths[name] + GAP) + (GAP if number else 0) for number in range(1 + AFTERS)]
        right = lefts[name][-1] + widths[name] + 4 * GAP
    top, height = 48, _TILE_HEIGHT + 2 * GAP
    sheet = Image.new("RGB", (right, top + height * len(rows)), PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((GAP, 12), "Every registered transform", INK, large)
    for name in datasets:
        pen.text((lefts[name][0], 8), name, INK, large)
        for number, left in enumerate(lefts[name]):
            pen.text((left, 30), "after" if number else "before", FAINT, small)
    for position, row in enumerate(rows):
        above = top + position * height
        pen.text((GAP, above), f"{row.spec.name}  ({row.spec.kind.value})", INK, large)
        words = f"randomizes {row.spec.randomizes}\npreserves {row.spec.preserves}"
        lines = [line for sentence in words.split("\n") for line in textwrap.wrap(sentence, _LINE_LENGTH)]
        pen.multiline_text((GAP, above + 24), "\n".join(lines), FAINT, small, spacing=3)
        for name, tiles in row.tiles.items():
            for left, each in zip(lefts[name], tiles, strict=True):
                sheet.paste(each, (left, above))
    return sheet
