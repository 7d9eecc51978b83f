"""The sample grid: columns are domains (the paper's figures of each data set's training examples)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from wilds_targeted.audio.axes import SAMPLE_RATE, relative_box
from wilds_targeted.augmentations.pools import EMPTY
from wilds_targeted.experiments.data_figures.drawing import LOOKS, Drawn, Table, shorten
from wilds_targeted.experiments.data_figures.sampling import Pictures, shuffled
from wilds_targeted.experiments.data_figures.view import Numbers, View

_TILE = 1.5
"""A column's width in inches."""

_LARGEST_SIDE = 320
_KILOHERTZ = (0.5, 1, 2, 4, 8, 16)
_BOX_COLOR = "#E69F00"


@dataclass(frozen=True)
class Sample:
    """One example of the grid: its place, its position in the view, and its picture."""

    row: int
    column: int
    position: int
    picture: Image.Image


def eligible(view: View) -> Numbers:
    """The positions that the grid may show: as in the paper's figure, iWildCam's pictures all have an animal."""
    if view.dataset.dataset_name == "iwildcam":
        return np.flatnonzero(view.labels != EMPTY)
    return np.arange(len(view.rows))


def rows_by_class(view: View, examples: int) -> list[int | None]:
    """For each row of the grid the class that it shows; None for any.

    Two classes share the rows, class 0 above, as in the paper's figure of Camelyon17 (two rows and three); a single
    row has room for neither alone.

    Args:
        view: The split.
        examples: How many rows there are.
    """
    if len(view.class_names) != 2 or examples == 1:
        return [None] * examples
    return [int(row >= examples // 2) for row in range(examples)]


def sample(view: View, pictures: Pictures, domains: Sequence[int], examples: int, seed: int) -> Iterator[Sample]:
    """The grid's examples: random ones of each domain, or of each domain and class."""
    members = eligible(view)
    classes = rows_by_class(view, examples)
    for column, domain in enumerate(domains):
        for label in dict.fromkeys(classes):
            places = [row for row, each in enumerate(classes) if each == label]
            drawn = pictures.first(shuffled(view, members, seed, domain, label), len(places))
            for row, (position, picture) in zip(places, drawn, strict=False):
                picture.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE), Image.Resampling.LANCZOS)
                yield Sample(row, column, position, picture)


def draw_samples(
    view: View, pictures: Pictures, samples: Sequence[Sample], domains: Sequence[int], examples: int
) -> Drawn:
    """The grid and the list of what it shows."""
    lines = [
        (
            view.domain_names[domains[each.column]],
            each.row + 1,
            int(view.rows[each.position]),
            pictures.file(each.position),
            int(view.labels[each.position]),
            view.class_names[view.labels[each.position]],
        )
        for each in sorted(samples, key=lambda each: (each.column, each.row))
    ]
    names = ", ".join(view.domain_names[domain] for domain in domains)
    return Drawn(
        "samples",
        f"Samples by {view.field}",
        _caption(view, domains, examples),
        f"Grid of {len(samples)} pictures, one column for each {view.field}: {names}.",
        _draw_grid(view, samples, domains, examples),
        {"samples": Table((view.field, "place", "row", "file", "y", "class"), lines)},
        of_pictures=True,
    )


def _draw_grid(view: View, samples: Sequence[Sample], domains: Sequence[int], examples: int) -> Figure:
    shapes = [each.picture.height / each.picture.width for each in samples]
    high = _TILE * float(np.clip(np.median(shapes), 0.5, 1.5)) if shapes else _TILE
    named = rows_by_class(view, examples)[0] is None
    with mpl.rc_context(LOOKS):
        figure = Figure(figsize=(0.5 + _TILE * len(domains), 0.5 + (high + 0.2 * named) * examples))
        figure.set_layout_engine("constrained", w_pad=0.02, h_pad=0.02, wspace=0.01, hspace=0.01)
        grid = figure.subplots(examples, len(domains), squeeze=False)
        for axes in grid.flat:
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        for column, domain in enumerate(domains):
            words = [*([view.regions[domain]] if view.regions else []), view.domain_names[domain]]
            title = "\n".join(textwrap.fill(shorten(each, 40), 20) for each in words)
            grid[0, column].set_title(title, fontsize=8)
        for row, label in enumerate(rows_by_class(view, examples)):
            if label is not None:
                grid[row, 0].set_ylabel(shorten(view.class_names[label], 20))
        for each in samples:
            axes = grid[each.row, each.column]
            axes.imshow(np.asarray(each.picture), interpolation="lanczos")
            if named:
                axes.set_xlabel(shorten(view.class_names[view.labels[each.position]], 26), fontsize=7, labelpad=2)
            _draw_box(axes, view, each)
        _mark_frequencies(view.dataset, [axes for axes in grid[:, 0] if axes.images])
    return figure


def _draw_box(axes: Axes, view: View, shown: Sample) -> None:
    """The outline of the call, where the data set knows one."""
    box = view.dataset.get_box(int(view.rows[shown.position])) if hasattr(view.dataset, "get_box") else None
    if box is None:
        return
    width, height = shown.picture.size
    left, top, across, down = box
    corner = (left * width - 0.5, top * height - 0.5)
    axes.add_patch(Rectangle(corner, across * width, down * height, fill=False, edgecolor=_BOX_COLOR, linewidth=1))


def _mark_frequencies(dataset: Any, column: Sequence[Axes]) -> None:
    """The frequency axis of BirdCalls' spectrograms, at the left."""
    if dataset.dataset_name != "birdcalls":
        return
    facts = dataset._facts  # none in the authors' bundle, which is of this rate
    if facts is not None and set(facts.sampling_rates) != {str(SAMPLE_RATE)}:
        return
    for axes in column:
        bottom, top = axes.get_ylim()
        hertz = [1000 * each for each in _KILOHERTZ if 2000 * each <= SAMPLE_RATE]
        # A band without height lies where its frequency does.
        places = [relative_box(0, 5, each, each)[1] * (bottom - top) + top for each in hertz]
        axes.set_yticks(places, [f"{each / 1000:g}" for each in hertz], fontsize=6)
        axes.tick_params(length=2, pad=1)
        axes.set_ylabel("kHz", fontsize=7, labelpad=1)


def _caption(view: View, domains: Sequence[int], examples: int) -> str:
    chosen = f"{len(domains)} of the {len(view.domain_names)}"
    if len(domains) == len(view.domain_names):
        chosen = f"all {len(domains)}"
    classes = rows_by_class(view, examples)
    text = f"Columns: {chosen} domains ({view.field}) of the split {view.split}. Each shows "
    if classes[0] is None:
        text += f"{examples} random examples"
    else:
        zeros = classes.count(0)
        names = view.class_names
        text += f"{zeros} random examples of {names[0]} above and {examples - zeros} of {names[1]} below"
    if view.dataset.dataset_name == "iwildcam":
        text += ", all with an animal"
    if hasattr(view.dataset, "get_box"):
        text += "; where a call's box is known, it is outlined"
    return text + ". A place stays empty where there are fewer."
