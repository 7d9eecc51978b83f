"""What `wilds-targeted simulate` leaves behind: two figures in two formats, and a page that needs nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from wilds_targeted.experiments.figure import for_html
from wilds_targeted.experiments.page import load_template, versions
from wilds_targeted.files import written_whole
from wilds_targeted.theory.experiment import Plan, Point
from wilds_targeted.theory.figures import TITLES, Which, save_figure
from wilds_targeted.theory.setting import Augmentation

FIGURES: dict[Which, str] = {"ood": "ood_rmse", "id": "id_rmse"}
"""The files' names, without endings."""


def write_report(folder: Path, plan: Plan, points: Sequence[Point], command: str) -> Path:
    """Write the figures and the page.

    Args:
        folder: Where they go.
        plan: What was simulated.
        points: Means over seeds.
        command: The line that made it, for the page.

    Returns:
        The page.
    """
    for which, name in FIGURES.items():
        for ending in ("png", "svg"):
            save_figure(folder / f"{name}.{ending}", plan, points, which)
    drawn = {
        which: Markup(for_html((folder / f"{name}.svg").read_text(encoding="utf-8"))) for which, name in FIGURES.items()
    }
    text = load_template(__package__, "page.html").render(
        plan=plan,
        command=command,
        sizes=" and ".join(f"{size:,}" for size in sorted(plan.sample_sizes, reverse=True)),
        ood=drawn["ood"],  # ours, with all texts as outlines
        in_domain=drawn["id"],
        descriptions={which: describe(points, which) for which in FIGURES},
        augmentations=[augmentation.value for augmentation in Augmentation],
        tables=[each for which in FIGURES for each in _tables(plan, points, which)],
        setting=[*dataclasses.asdict(plan.setting).items(), ("gamma^2", f"{plan.setting.gamma2:g}")],
        versions=[pair for pair in versions() if pair[0] not in ("torch", "wilds")],
    )
    page = folder / "index.html"
    with written_whole(page) as arriving:
        arriving.write_text(text, encoding="utf-8")
    return page


def describe(points: Sequence[Point], which: Which) -> str:
    """A figure in words, for people who do not see it: each curve's first and last point."""
    curves: dict[tuple[int, Augmentation], list[Point]] = {}
    for point in points:
        curves.setdefault((point.samples, point.augmentation), []).append(point)
    parts = [
        f"N = {samples:,}, {augmentation.value}: {getattr(curve[0], f'{which}_rmse'):.2f} at {curve[0].domains} "
        f"domains, {getattr(curve[-1], f'{which}_rmse'):.2f} at {curve[-1].domains}"
        for (samples, augmentation), curve in curves.items()
    ]
    return f"Curves of {TITLES[which]} against the number of training domains. {'; '.join(parts)}."


def _tables(plan: Plan, points: Sequence[Point], which: Which) -> list[tuple[str, list[tuple[int, list[str]]]]]:
    """For each number of examples a title, and for each number of domains the errors of all augmentations."""
    found = {(point.samples, point.domains, point.augmentation): point for point in points}
    tables = []
    for samples in sorted(plan.sample_sizes, reverse=True):
        rows = []
        for domains in sorted(plan.domain_counts):
            members = [found[samples, domains, augmentation] for augmentation in Augmentation]
            numbers = [(getattr(each, f"{which}_rmse"), getattr(each, f"{which}_error")) for each in members]
            rows.append((domains, [format_error(mean, error) for mean, error in numbers]))
        tables.append((f"N = {samples:,}, {TITLES[which]}", rows))
    return tables


def format_error(mean: float, error: float | None) -> str:
    """A mean with its standard error.

    >>> format_error(0.3183, 0.0012), format_error(0.5, None)
    ('0.318 (0.001)', '0.500')
    """
    return f"{mean:.3f}" if error is None else f"{mean:.3f} ({error:.3f})"


def table(plan: Plan, points: Sequence[Point]) -> str:
    """The errors out of domain, for the terminal."""
    header = ["D", *(augmentation.value for augmentation in Augmentation)]
    lines = []
    for title, rows in _tables(plan, points, "ood"):
        lines.append(title)
        lines.append(
            "  " + "".join(f"{word:>18}" if position else f"{word:>6}" for position, word in enumerate(header))
        )
        lines += [f"  {domains:>6}" + "".join(f"{cell:>18}" for cell in cells) for domains, cells in rows]
    return "\n".join(lines)
