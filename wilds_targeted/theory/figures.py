"""Figure 3 of the paper, and its companion in appendix D, from simulation results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from wilds_targeted.experiments.figure import SETTINGS
from wilds_targeted.files import written_whole
from wilds_targeted.theory import bounds
from wilds_targeted.theory.estimators import oracle_risk
from wilds_targeted.theory.experiment import Plan, Point
from wilds_targeted.theory.setting import Augmentation

Which = Literal["ood", "id"]

TITLES = {"ood": "out-of-domain (OOD) RMSE", "id": "in-domain (ID) RMSE"}

# The paper's colours, in shades that people who do not see all colours can tell apart; the markers differ, too.
STYLES = {
    Augmentation.NONE: ("#0072B2", "o"),
    Augmentation.GENERIC: ("#E69F00", "s"),
    Augmentation.TARGETED: ("#C0392B", "D"),
    Augmentation.DOMAIN_INVARIANT: ("#009E73", "^"),
}


def save_figure(path: Path, plan: Plan, points: Sequence[Point], which: Which) -> None:
    """Draw one of the two figures; the path's ending says in which format.

    Args:
        path: Where it goes; written whole or not at all.
        plan: What was simulated.
        points: Means over seeds.
        which: Errors out of domain, with the theorems' bounds, or in domain.
    """
    # The settings hold while the figure is drawn, too: matplotlib reads some of them only then.
    with mpl.rc_context(SETTINGS):
        figure = draw_figure(plan, points, which)
        metadata: dict[str, Any] = {"Date": None, "Creator": None} if path.suffix == ".svg" else {"Software": None}
        with written_whole(path) as arriving:
            figure.savefig(arriving, dpi=150, metadata=metadata)


def draw_figure(plan: Plan, points: Sequence[Point], which: Which) -> Figure:
    """One panel for each number of training examples, one curve for each augmentation."""
    sizes = sorted(plan.sample_sizes, reverse=True)
    figure = Figure(figsize=(1.2 + 4.6 * len(sizes), 5.2), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(sizes), sharey=True))
    for samples, axes in zip(sizes, panels, strict=True):
        _draw_curves(axes, [point for point in points if point.samples == samples], which)
        # The theorems are about infinite data: they are drawn where there is most.
        if which == "ood" and samples == sizes[0]:
            _draw_bounds(axes, plan)
        axes.set(xscale="log", xlabel="training domains D", title=f"N = {samples:,} training examples")
        # Theorem 3 may speak of more domains than were simulated.
        axes.set_xlim(min(plan.domain_counts) / 1.35, max(plan.domain_counts) * 1.35)
        axes.set_xticks(sorted(plan.domain_counts))
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", labelsize=9)
        axes.grid(color="#dddddd", linewidth=0.7)
        axes.set_axisbelow(True)
    panels[0].set(ylabel=TITLES[which], ylim=(0, None))
    handles, labels = panels[0].get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    labels = _in_columns(labels)
    figure.legend(
        [named[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=2 if len(sizes) == 1 else math.ceil(len(labels) / 2),
        frameon=False,
        fontsize=9.5,
    )
    return figure


def _in_columns(labels: Sequence[str]) -> list[str]:
    """Each curve's label above that of its theorem, in a legend that fills columns of two; what is left, where it fits.

    >>> _in_columns(["Theorem 1: at least", "oracle", "unaugmented", "generic"])
    ['unaugmented', 'Theorem 1: at least', 'generic', 'oracle']
    """
    theorem = dict(zip(Augmentation, ("Theorem 1", "Theorem 3", "Theorem 2", "Theorem 4"), strict=True))
    left = [label for label in labels if label not in list(Augmentation)]
    pairs = []
    for augmentation in Augmentation:
        if augmentation in labels:
            below = [label for label in left if label.startswith(theorem[augmentation])] or left[-1:]
            left = [label for label in left if label not in below]
            pairs += [augmentation.value, *below]
    return pairs + left


def _draw_curves(axes: Axes, points: Sequence[Point], which: Which) -> None:
    for augmentation, (color, marker) in STYLES.items():
        curve = [point for point in points if point.augmentation == augmentation]
        means = [getattr(point, f"{which}_rmse") for point in curve]
        errors = [getattr(point, f"{which}_error") or 0.0 for point in curve]
        axes.errorbar(
            [point.domains for point in curve],
            means,
            yerr=errors,
            color=color,
            marker=marker,
            markersize=5,
            linewidth=1.8,
            capsize=2.5,
            label=augmentation.value,
            # The generic curve lies on the unaugmented one where there are many examples: both must be seen.
            linestyle="--" if augmentation == Augmentation.GENERIC else "-",
            zorder=4 if augmentation == Augmentation.GENERIC else 3,
        )


def _draw_bounds(axes: Axes, plan: Plan) -> None:
    """What the theorems say, on the scale of the errors: the root of the oracle's risk plus the excess risk."""
    setting, best = plan.setting, oracle_risk(plan.setting)
    counts = np.unique(np.geomspace(min(plan.domain_counts), max(plan.domain_counts), 300).round().astype(int))
    # The first bound is so close to its curve that a smooth line would cross the curve's straight pieces: it has the
    # same corners, and its own.
    corners = np.unique([*plan.domain_counts, np.clip(setting.p_domain, counts[0], counts[-1])])
    lines: list[tuple[str, Augmentation, Callable[[int], float]]] = [
        ("Theorem 1: at least", Augmentation.NONE, lambda count: bounds.theorem_1(setting, count)),
        ("Theorem 2: at most", Augmentation.TARGETED, lambda count: bounds.theorem_2_general(setting, count)),
        ("Theorem 4: exactly", Augmentation.DOMAIN_INVARIANT, lambda _: bounds.theorem_4(setting)),
    ]
    for title, augmentation, excess in lines:
        places = corners if augmentation == Augmentation.NONE else counts
        values = [math.sqrt(best + excess(int(count))) for count in places]
        axes.plot(places, values, color=STYLES[augmentation][0], linestyle=":", linewidth=1.5, label=title, zorder=2)
    axes.axhline(math.sqrt(best), color="#555555", linewidth=1, label="oracle", zorder=1)
    window = bounds.theorem_3_window(setting)
    if window is not None:
        axes.axvspan(*window, color="#C0392B", alpha=0.08, linewidth=0, label="Theorem 3: targeted is better", zorder=0)
