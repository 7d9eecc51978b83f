"""The plot of in-domain against out-of-domain scores, as SVG for a page."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from wilds_targeted.experiments.results import Row

# Okabe and Ito's colours, which people who do not see all colours can tell apart; the markers differ, too.
STYLES = (
    ("#0072B2", "o"),
    ("#E69F00", "s"),
    ("#009E73", "^"),
    ("#D55E00", "D"),
    ("#CC79A7", "v"),
    ("#56B4E9", "P"),
    ("#000000", "X"),
)

_LEGEND_WIDTH = 48
"""In letters, of which the figures have room for so many."""

SETTINGS: Any = {
    "svg.fonttype": "path",  # the same letters everywhere, whatever fonts there are
    "svg.hashsalt": "wilds-targeted",  # the same names inside for the same numbers
    "font.family": "DejaVu Sans",  # matplotlib brings it
    "font.size": 12,
    "text.parse_math": False,  # a dollar sign in a title is a dollar sign
    "axes.spines.top": False,
    "axes.spines.right": False,
}
"""Matplotlib's, for all figures of ours."""


def style_of(position: int) -> tuple[str, str]:
    """Colour and marker of the row at that position; a colour that comes again has another marker.

    >>> style_of(0), style_of(7)
    (('#0072B2', 'o'), ('#0072B2', 's'))
    """
    color, _ = STYLES[position % len(STYLES)]
    _, marker = STYLES[(position + position // len(STYLES)) % len(STYLES)]
    return color, marker


def color_of(position: int) -> str:
    """The colour of the row at that position, here and in the page's table."""
    return style_of(position)[0]


def legend_line(title: str) -> str:
    """A title for the legend, in several lines where it is long."""
    return textwrap.fill(title, _LEGEND_WIDTH)


def legend_height(titles: Sequence[str]) -> float:
    """How high a legend of these is, in inches for letters of 10 points."""
    return sum(0.17 * (legend_line(title).count("\n") + 1) + 0.05 for title in titles)


def scatter(rows: Sequence[Row], metric_title: str) -> str:
    """The plot as an ``<svg>`` element, the same for the same rows."""
    return for_html(as_svg(draw_scatter(rows, metric_title)))


def draw_scatter(
    rows: Sequence[Row], metric_title: str, fit: Callable[[float], float] | None = None, fit_title: str = ""
) -> Figure:
    """One faint marker for each run, a bold one with standard errors for each method's mean, and the line ID = OOD.

    Args:
        rows: The methods.
        metric_title: What was measured, for the axes.
        fit: Out-of-domain scores that in-domain ones predict, to be drawn as a curve.
        fit_title: Its name.
    """
    # The settings hold while the figure is drawn, too: matplotlib reads some of them only then.
    with mpl.rc_context(SETTINGS):
        titles = [row.title for row in rows] + ([fit_title] if fit is not None else [])
        figure = Figure(figsize=(5.8, max(7.4, 5.9 + 1.2 * legend_height(titles))), layout="constrained")
        axes = figure.add_subplot()
        low, high = _limits(rows)
        axes.plot([low, high], [low, high], color="#888888", linestyle="--", linewidth=1, label="ID = OOD", zorder=1)
        for position, row in enumerate(rows):
            _draw_method(axes, row, *style_of(position))
        if fit is not None:
            _draw_fit(axes, fit, fit_title, low, high)
        axes.set(
            xlim=(low, high),
            ylim=(low, high),
            aspect="equal",
            xlabel=f"in-domain (ID) {metric_title}, per cent",
            ylabel=f"out-of-domain (OOD) {metric_title}, per cent",
        )
        every = 5 if high - low <= 50 else 10
        axes.xaxis.set_major_locator(MultipleLocator(every))
        axes.yaxis.set_major_locator(MultipleLocator(every))
        axes.grid(color="#dddddd", linewidth=0.7)
        axes.set_axisbelow(True)
        handles, labels = axes.get_legend_handles_labels()
        # The line is drawn first and named last.
        figure.legend(
            handles[1:] + handles[:1], labels[1:] + labels[:1], loc="outside lower center", ncols=1, frameon=False
        )
    return figure


def as_svg(figure: Figure) -> str:
    """The figure as an SVG file, the same for the same figure."""
    with mpl.rc_context(SETTINGS):
        text = io.StringIO()
        # Tight, with room to spare: nothing that is drawn is cut off.
        figure.savefig(
            text,
            format="svg",
            bbox_inches="tight",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    return text.getvalue()


def _draw_fit(axes: Axes, fit: Callable[[float], float], title: str, low: float, high: float) -> None:
    """The curve, where both scores are shares."""
    steps = 200
    x = [low + (high - low) * step / steps for step in range(steps + 1)]
    inside = [value for value in x if 0 < value < 100]
    y = [100 * fit(value / 100) for value in inside]
    axes.plot(inside, y, color="#444444", linewidth=1.2, label=legend_line(title), zorder=1.5)


def _draw_method(axes: Axes, row: Row, color: str, marker: str) -> None:
    if len(row.scores) > 1:
        axes.scatter(
            [100 * score.in_domain for score in row.scores],
            [100 * score.out_of_domain for score in row.scores],
            s=20,
            color=color,
            marker=marker,
            alpha=0.45,
            linewidths=0,
            zorder=2,
        )
    across, up = row.in_domain, row.out_of_domain
    if across.error is not None and up.error is not None:
        # Apart from the marker: matplotlib gives the caps the colour of the marker's edge.
        axes.errorbar(
            100 * across.mean,
            100 * up.mean,
            xerr=100 * across.error,
            yerr=100 * up.error,
            color=color,
            elinewidth=1.5,
            capsize=3,
            capthick=1.5,
            linestyle="none",
            zorder=3,
        )
    axes.plot(
        100 * across.mean,
        100 * up.mean,
        color=color,
        marker=marker,
        markersize=8,
        markeredgecolor="white",
        markeredgewidth=0.8,
        linestyle="none",
        label=legend_line(row.title),
        zorder=4,
    )


def _limits(rows: Sequence[Row]) -> tuple[float, float]:
    """The same for both axes, so that the line ID = OOD is the diagonal; in steps of five per cent."""
    values = []
    for row in rows:
        values += [value for score in row.scores for value in (score.in_domain, score.out_of_domain)]
        for estimate in (row.in_domain, row.out_of_domain):
            error = estimate.error or 0.0
            values += [estimate.mean - error, estimate.mean + error]
    step = 5
    low = step * math.floor((100 * min(values) - 1) / step)
    high = step * math.ceil((100 * max(values) + 1) / step)
    return float(low), float(high)


def for_html(svg: str) -> str:
    """The SVG element alone, as wide as its place, without metadata and comments."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    return re.sub(r'(<svg[^>]*?) width="[^"]*"| height="[^"]*"', r"\1", svg, count=2)
