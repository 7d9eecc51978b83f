"""Label distributions: of every split, and of every domain of one (the paper's figure for BirdCalls)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from wilds_targeted.experiments.data_figures.drawing import (
    LOOKS,
    Drawn,
    Table,
    count_of,
    most_frequent,
    shorten,
)
from wilds_targeted.experiments.data_figures.view import Numbers, View, labels_of, region_of_rows
from wilds_targeted.experiments.figure import STYLES, color_of

AT_MOST = 32
"""How many classes a figure shows: those of BirdCalls."""

_NAMED_COLUMNS = 40
"""With more domains than that, their names do not fit, and they are ordered by what they show."""

_NUMBERED_CELLS = 420
"""Up to so many cells have their numbers written in."""


@dataclass(frozen=True)
class SplitCounts:
    """How many examples each split has, by region and class.

    Args:
        splits: Those that are not empty.
        regions: The regions; one without a name for a data set without.
        counts: An array (split, region, class).
    """

    splits: tuple[str, ...]
    regions: tuple[str, ...]
    counts: Numbers

    @property
    def are_coloured(self) -> bool:
        """Whether regions have colours: more of them than there are colours would look alike."""
        return 1 < len(self.regions) <= len(STYLES)


def count_splits(dataset: Any, classes: int) -> SplitCounts:
    """Count a data set's labels.

    Args:
        dataset: The full `WILDSDataset`.
        classes: How many classes there are.
    """
    labels, split_array = labels_of(dataset), np.asarray(dataset.split_array)
    regions, names = region_of_rows(dataset)
    splits = [split for split, number in dataset.split_dict.items() if number in split_array]
    counts = np.zeros((len(splits), len(names), classes), dtype=np.int64)
    for place, split in enumerate(splits):
        mine = split_array == dataset.split_dict[split]
        np.add.at(counts[place], (regions[mine], labels[mine]), 1)
    return SplitCounts(tuple(splits), names, counts)


def count_domains(view: View) -> Numbers:
    """How many examples each domain of a view has of each class."""
    counts = np.zeros((len(view.domain_names), len(view.class_names)), dtype=np.int64)
    np.add.at(counts, (view.domains, view.labels), 1)
    return counts


def gather(counts: Numbers, shown: Sequence[int]) -> Numbers:
    """The counts (…, class) of the classes shown, and last of all others together if there are any."""
    others = counts.sum(axis=-1) - counts[..., shown].sum(axis=-1)
    parts = [counts[..., shown]]
    return np.concatenate([*parts, others[..., None]], axis=-1) if others.any() else parts[0]


def _row_titles(view: View, total: Numbers, shown: Sequence[int]) -> list[str]:
    """The names of the classes shown, and of the rest."""
    titles = [shorten(view.class_names[label], 30) for label in shown]
    others = np.count_nonzero(total) - len(shown)
    return [*titles, f"{others} other classes"] if others else titles


def draw_splits(view: View) -> Drawn:
    """Bars for each class, a panel for each split, coloured by region where there are regions."""
    found = count_splits(view.dataset, len(view.class_names))
    total = found.counts.sum(axis=(0, 1))
    shown = most_frequent(total, AT_MOST)
    titles = _row_titles(view, total, shown)
    caption = f"Examples of each class in every split, from the metadata of all {int(total.sum()):,} examples."
    if len(titles) > len(shown):
        caption += f" The {len(shown)} most frequent classes have bars of their own; the {titles[-1]} share one."
    if found.are_coloured:
        caption += " Colours are regions."
    lines = [
        (split, region, label, view.class_names[label], int(found.counts[place, number, label]))
        for place, split in enumerate(found.splits)
        for number, region in enumerate(found.regions)
        for label in np.flatnonzero(found.counts[place, number]).tolist()
    ]
    sizes = ", ".join(f"{split} {int(found.counts[place].sum()):,}" for place, split in enumerate(found.splits))
    return Drawn(
        "labels_by_split",
        "Labels by split",
        caption,
        f"Bar charts of examples by class for the splits {sizes}.",
        _draw_bars(found, gather(found.counts, shown), titles),
        {"labels_by_split": Table(("split", "region", "y", "class", "examples"), lines)},
    )


def _draw_bars(found: SplitCounts, counts: Numbers, titles: Sequence[str]) -> Figure:
    places = np.arange(len(titles))
    with mpl.rc_context(LOOKS):
        figure = Figure(figsize=(1.8 + 2.1 * len(found.splits), 1.1 + 0.19 * max(4, len(titles))), layout="constrained")
        panels = figure.subplots(1, len(found.splits), squeeze=False, sharey=True)[0]
        for place, (axes, split) in enumerate(zip(panels, found.splits, strict=True)):
            totals = counts[place].sum(axis=0)
            left = np.zeros(len(titles), dtype=np.int64)
            for number, part in enumerate(counts[place] if found.are_coloured else totals[None]):
                axes.barh(places, part, left=left, color=color_of(number), height=0.75)
                left = left + part
            for position, count in zip(places, totals.tolist(), strict=True):
                axes.annotate(f"{count:,}", (count, position), (2, 0), textcoords="offset points", va="center", size=6)
            axes.set(title=f"{split} ({int(totals.sum()):,})", xlim=(0, 1.3 * max(1, totals.max())))
            axes.locator_params(axis="x", nbins=2)
            axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
            axes.tick_params(labelsize=7)
            axes.tick_params(axis="y", length=0)
        panels[0].set_yticks(places, titles)
        panels[0].set_ylim(len(titles) - 0.4, -0.6)
        figure.supxlabel("examples", fontsize=9)
        if found.are_coloured:
            handles = [Patch(color=color_of(number)) for number in range(len(found.regions))]
            figure.legend(handles, found.regions, loc="outside upper center", ncols=len(handles), frameon=False)
    return figure


def draw_domains(view: View) -> Drawn:
    """A heat map: what share of each domain's examples each class has."""
    counts = count_domains(view)
    total = counts.sum(axis=0)
    shown = most_frequent(total, AT_MOST)
    titles = _row_titles(view, total, shown)
    gathered = gather(counts, shown)
    order = order_domains(view, gathered)
    caption = (
        f"Share of each class among the examples of each {view.field} in the split {view.split}, from the metadata of "
        f"all {len(view.rows):,} examples; all {len(order)} domains are shown. The colour scale is a square root, so "
        f"that small shares can be seen."
    )
    if len(titles) > len(shown):
        caption += f" The {len(shown)} most frequent classes have rows of their own; the {titles[-1]} share one."
    if len(order) > _NAMED_COLUMNS:
        caption += " Columns are ordered by the class that is furthest above its share of the whole split."
    lines = [
        (view.domain_names[domain], label, view.class_names[label], int(counts[domain, label]), f"{share:.6g}")
        for domain in range(len(counts))
        for label in np.flatnonzero(counts[domain]).tolist()
        for share in [counts[domain, label] / counts[domain].sum()]
    ]
    return Drawn(
        "labels_by_domain",
        f"Labels by {view.field}",
        caption,
        f"Heat map of classes against {count_of(len(order), view.field + ' column')}.",
        _draw_heat_map(view, gathered[order], [view.domain_names[domain] for domain in order], titles),
        {"labels_by_domain": Table((view.field, "y", "class", "examples", "share"), lines)},
    )


def order_domains(view: View, counts: Numbers) -> list[int]:
    """By region and number where names fit; else by the class that is furthest above its share of the whole split.

    Args:
        view: The split.
        counts: By domain, and by class in the order in which classes are shown.
    """
    domains = range(len(counts))
    if len(counts) <= _NAMED_COLUMNS:
        return sorted(domains, key=lambda domain: (view.regions[domain] if view.regions else "", domain))
    shares = counts / counts.sum(axis=1, keepdims=True)
    above = shares - counts.sum(axis=0) / counts.sum()
    top = above.argmax(axis=1)
    return sorted(domains, key=lambda domain: (top[domain], -above[domain, top[domain]], domain))


def _draw_heat_map(view: View, counts: Numbers, names: Sequence[str], titles: Sequence[str]) -> Figure:
    shares = (counts / counts.sum(axis=1, keepdims=True)).T
    named = len(names) <= _NAMED_COLUMNS
    across = float(np.clip(0.42 * len(names), 2.5, 9)) if named else 9.0
    with mpl.rc_context(LOOKS):
        figure = Figure(figsize=(2.6 + across, 1.2 + 0.2 * max(4, len(titles))), layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(shares, aspect="auto", cmap="Blues", norm=PowerNorm(0.5, 0, 1), interpolation="nearest")
        axes.set_yticks(range(len(titles)), titles, fontsize=7)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        if named:
            axes.set_xticks(
                range(len(names)), [shorten(name, 24) for name in names], fontsize=7, rotation=40, ha="right"
            )
            axes.set_xlabel(view.field)
        else:
            axes.set_xticks([])
            axes.set_xlabel(f"{len(names)} domains ({view.field})")
        if shares.size <= _NUMBERED_CELLS:
            for (row, column), share in np.ndenumerate(shares):
                if share:
                    color = "white" if share > 0.4 else "black"
                    axes.text(column, row, f"{100 * share:.0f}", color=color, fontsize=6, ha="center", va="center")
        bar = figure.colorbar(image, ax=axes, shrink=0.8, ticks=[0, 0.05, 0.2, 0.5, 1])
        bar.ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        bar.ax.tick_params(labelsize=7)
        bar.set_label("share of examples", fontsize=8)
    return figure
