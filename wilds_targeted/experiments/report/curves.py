"""Learning curves: each run's score by epoch, with the selected epoch marked."""

from __future__ import annotations

import statistics

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from wilds_targeted.experiments.figure import SETTINGS, legend_height, legend_line, style_of
from wilds_targeted.experiments.report.methods import Method, Section


def draw_curves(section: Section) -> Figure:
    """A panel for validation and for each reported split.

    Faint lines are runs, a bold one is the mean over those that have the epoch; markers are the selected epochs.
    """
    splits = list(dict.fromkeys(("val", *section.splits)))
    with mpl.rc_context({**SETTINGS, "font.size": 10}):
        legend = legend_height([method.title for method in section.methods])
        figure = Figure(figsize=(7.2, 2.6 * len(splits) + legend + 0.4), layout="constrained")
        panels = figure.subplots(len(splits), 1, sharex=True, squeeze=False)[:, 0]
        for split, axes in zip(splits, panels, strict=True):
            for position, method in enumerate(section.methods):
                _draw_method(axes, method, split, section.metric, *style_of(position))
            title = "validation (val)" if split == "val" else section.split_title(split)
            axes.set(ylabel=f"{title},\n{section.metric_title}, %")
            axes.grid(color="#dddddd", linewidth=0.7)
            axes.set_axisbelow(True)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        panels[-1].set_xlabel("epoch")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=1, frameon=False)
    return figure


def describe_curves(section: Section) -> str:
    """The curves in words, for people who do not see them."""
    epochs = [
        f"{method.title}: {', '.join(f'{member.epoch} (seed {member.run.seed})' for member in method.members)}"
        for method in section.methods
    ]
    return f"Learning curves of {section.metric_title} by epoch. Selected epochs: {'; '.join(epochs)}."


def _draw_method(axes: Axes, method: Method, split: str, metric: str, color: str, marker: str) -> None:
    by_epoch: dict[int, list[float]] = {}
    for member in method.members:
        if split not in member.run.splits:
            continue
        rows = {epoch: 100 * row[metric] for epoch, row in sorted(member.run.table(split).items()) if metric in row}
        for epoch, value in rows.items():
            by_epoch.setdefault(epoch, []).append(value)
        if len(method.members) > 1:
            axes.plot(list(rows), list(rows.values()), color=color, alpha=0.3, linewidth=0.9)
        if member.epoch in rows:
            axes.plot(member.epoch, rows[member.epoch], color=color, marker=marker, markersize=5, alpha=0.8)
    means = {epoch: statistics.fmean(values) for epoch, values in sorted(by_epoch.items())}
    axes.plot(list(means), list(means.values()), color=color, linewidth=1.8, label=legend_line(method.title))
