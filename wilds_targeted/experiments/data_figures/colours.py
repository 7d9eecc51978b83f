"""Colour histograms by class, for each domain (the paper's figure for Camelyon17's training hospitals)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from wilds_targeted.experiments.data_figures.drawing import (
    LOOKS,
    OTHER_COLOR,
    Drawn,
    Table,
    count_of,
    most_frequent,
    shorten,
)
from wilds_targeted.experiments.data_figures.sampling import Pictures, shuffled
from wilds_targeted.experiments.data_figures.view import Numbers, View
from wilds_targeted.experiments.figure import color_of

CHANNELS = ("red", "green", "blue")
LEVELS = 256
BINS = 64
"""Each of four levels."""

AT_MOST = 5
"""How many curves a panel has."""

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """The colours of one domain's pictures of one class (or of all classes without a curve of their own).

    Args:
        domain: Which domain.
        label: Which class; None for all others.
        pictures: How many pictures were looked at.
        shares: For each channel and level (0 to 255) the share of pixels, averaged over pictures: each counts the same.
    """

    domain: int
    label: int | None
    pictures: int
    shares: Doubles

    @property
    def bins(self) -> Doubles:
        """The shares in bins, by channel."""
        summed: Doubles = self.shares.reshape(len(CHANNELS), BINS, LEVELS // BINS).sum(axis=2)
        return summed

    @property
    def means(self) -> Doubles:
        """The mean level, by channel."""
        means: Doubles = self.shares @ np.arange(LEVELS, dtype=np.float64)
        return means


def choose_classes(view: View, domains: Sequence[int]) -> tuple[list[int], bool]:
    """The classes with a curve of their own: the most frequent in these domains; and whether there are others."""
    labels = view.labels[np.isin(view.domains, domains)]
    counts = np.bincount(labels, minlength=len(view.class_names))
    shown = most_frequent(counts, AT_MOST)
    return sorted(shown), len(shown) < int(np.count_nonzero(counts))


def plan_cells(view: View, domains: Sequence[int], seed: int) -> list[tuple[int, int | None, Numbers]]:
    """For each domain and class the positions to look at, in random order; the others of a domain come last."""
    shown, has_others = choose_classes(view, domains)
    everything = np.arange(len(view.rows))
    others = np.flatnonzero(~np.isin(view.labels, shown))
    cells: list[tuple[int, int | None, Numbers]] = []
    for domain in domains:
        cells += [(domain, label, shuffled(view, everything, seed, domain, label)) for label in shown]
        if has_others:
            cells.append((domain, None, shuffled(view, others, seed, domain)))
    return [cell for cell in cells if len(cell[2])]


def measure(
    pictures: Pictures, cells: Sequence[tuple[int, int | None, Numbers]], at_most: int
) -> Iterator[tuple[int, int | None, Doubles]]:
    """One picture's shares of levels after the other, with its domain and class."""
    for domain, label, order in cells:
        for _, picture in pictures.first(order, at_most):
            counts = np.array(picture.histogram(), dtype=np.float64).reshape(len(CHANNELS), LEVELS)
            yield domain, label, counts / (picture.width * picture.height)


def average(measured: Iterator[tuple[int, int | None, Doubles]]) -> list[Cell]:
    """The cells, of which only sums are kept."""
    sums: dict[tuple[int, int | None], tuple[int, Doubles]] = {}
    for domain, label, shares in measured:
        count, total = sums.get((domain, label), (0, np.zeros_like(shares)))
        sums[domain, label] = (count + 1, total + shares)
    return [Cell(domain, label, count, total / count) for (domain, label), (count, total) in sums.items()]


def draw_colours(view: View, cells: Sequence[Cell], domains: Sequence[int], at_most: int) -> Drawn:
    """The figure, the numbers of its histograms, and the classes' means."""
    shown, has_others = choose_classes(view, domains)
    caption = (
        f"Shares of pixels by level in the pictures of each {view.field} of the split {view.split}, by class; dashed: "
        f"the class's mean. At most {count_of(at_most, 'random picture')} of each class and {view.field}, each picture "
        f"counting the same."
    )
    if has_others:
        caption += f" The {len(shown)} most frequent classes have curves of their own; all others share one."
    return Drawn(
        "colours",
        "Colours by class",
        caption,
        f"Histograms of red, green and blue for each {view.field}, a curve for each class. {_describe(view, cells)}",
        _draw_panels(view, cells, domains, [*shown, *([None] if has_others else [])]),
        {"colour_means": _means(view, cells), "colours": _histograms(view, cells)},
    )


def _title(view: View, label: int | None) -> str:
    return "other classes" if label is None else view.class_names[label]


def _means(view: View, cells: Sequence[Cell]) -> Table:
    """For each domain and class how many pictures were looked at, and the mean level of each channel."""
    lines = [
        (
            view.domain_names[cell.domain],
            _title(view, cell.label),
            cell.pictures,
            *(f"{mean:.2f}" for mean in cell.means.tolist()),
        )
        for cell in cells
    ]
    return Table((view.field, "class", "pictures", *CHANNELS), lines)


def _histograms(view: View, cells: Sequence[Cell]) -> Table:
    width = LEVELS // BINS
    lines = [
        (
            view.domain_names[cell.domain],
            _title(view, cell.label),
            channel,
            width * place,
            width * place + width - 1,
            f"{share:.6g}",
        )
        for cell in cells
        for channel, shares in zip(CHANNELS, cell.bins.tolist(), strict=True)
        for place, share in enumerate(shares)
    ]
    return Table((view.field, "class", "channel", "from_level", "to_level", "share"), lines)


def _describe(view: View, cells: Sequence[Cell]) -> str:
    """The means in words."""
    parts = [
        f"{view.domain_names[cell.domain]}, {_title(view, cell.label)}: "
        + ", ".join(f"{channel} {mean:.0f}" for channel, mean in zip(CHANNELS, cell.means.tolist(), strict=True))
        for cell in cells
    ]
    return f"Means: {'; '.join(parts)}."


def _draw_panels(view: View, cells: Sequence[Cell], domains: Sequence[int], labels: Sequence[int | None]) -> Figure:
    with mpl.rc_context(LOOKS):
        figure = Figure(figsize=(9, 0.9 + 1.5 * len(domains)), layout="constrained")
        panels = figure.subplots(len(domains), len(CHANNELS), squeeze=False, sharex=True, sharey="row")
        for row, domain in enumerate(domains):
            mine = [cell for cell in cells if cell.domain == domain]
            for channel, axes in enumerate(panels[row]):
                for cell in mine:
                    _draw_curve(axes, cell, channel, _color(labels, cell.label))
                axes.set(xlim=(0, LEVELS), xticks=[0, 64, 128, 192, 256])
                axes.tick_params(labelsize=7)
                axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
            # The row's panels share this axis: all of them are drawn before its upper end is known.
            panels[row, 0].set_ylim(0, 1.04 * max((cell.bins.max() for cell in mine), default=1))
            panels[row, 0].set_ylabel(shorten(view.domain_names[domain], 22))
        for axes, channel_title in zip(panels[0], CHANNELS, strict=True):
            axes.set_title(channel_title)
        for axes in panels[-1]:
            axes.set_xlabel("level")
        handles = [Line2D([], [], color=_color(labels, label), linewidth=2) for label in labels]
        names = [shorten(_title(view, label), 28) for label in labels]
        figure.legend(handles, names, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _color(labels: Sequence[int | None], label: int | None) -> str:
    return OTHER_COLOR if label is None else color_of(labels.index(label))


def _draw_curve(axes: Axes, cell: Cell, channel: int, color: str) -> None:
    edges = np.linspace(0, LEVELS, BINS + 1)
    axes.stairs(cell.bins[channel], edges, color=color, fill=True, alpha=0.18)
    axes.stairs(cell.bins[channel], edges, color=color, linewidth=1.1)
    # A level's pixels stand from the level to the next one.
    axes.axvline(cell.means[channel] + 0.5, color=color, linestyle="--", linewidth=1.2)
