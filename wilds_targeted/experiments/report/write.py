"""A report's files: tables, figures, CSVs and one page that needs nothing else."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

from wilds_targeted.errors import ConfigError, DataError
from wilds_targeted.experiments.data_figures.drawing import write_bytes
from wilds_targeted.experiments.data_figures.report import data_address
from wilds_targeted.experiments.figure import SETTINGS, as_svg, color_of, draw_scatter, for_html
from wilds_targeted.experiments.page import describe_plot, load_template, versions
from wilds_targeted.experiments.report.analysis import Findings, FitChoice, analyse
from wilds_targeted.experiments.report.csv_files import (
    breakdown_csv,
    comparisons_csv,
    results_csv,
    robustness_csv,
    runs_csv,
)
from wilds_targeted.experiments.report.curves import describe_curves, draw_curves
from wilds_targeted.experiments.report.gathering import Choices, gather
from wilds_targeted.experiments.report.tables import (
    ResultTable,
    as_latex,
    as_markdown,
    interval,
    points,
    result_table,
)
from wilds_targeted.experiments.results import NO_VALUE, per_cent
from wilds_targeted.experiments.runs import find_runs

PAGE = "index.html"


@dataclass(frozen=True)
class Report:
    """What was written.

    Args:
        page: The page.
        findings: One for each section.
    """

    page: Path
    findings: tuple[Findings, ...]


@dataclass(frozen=True)
class Shown:
    """A figure on the page: inline, and as files with their names."""

    name: str
    title: str
    caption: str
    description: str
    inline: Markup
    files: tuple[tuple[str, bytes], ...]


def write_report(
    paths: Sequence[str | Path],
    out: str | Path,
    choices: Choices,
    *,
    compare: Sequence[tuple[str, str]] = (),
    root_dir: Path | None = None,
    fit: FitChoice | None = None,
    command: str = "",
) -> Report:
    """Read runs, compare them, and write all of it into a folder.

    Args:
        paths: Log folders, or folders that hold some.
        out: The folder for the report.
        choices: Titles, splits and metric.
        compare: Names of methods, each with that of its baseline.
        root_dir: Where the data sets are, for breakdowns.
        fit: The line for effective robustness.
        command: The line that made the report, for the page.

    Raises:
        WildsTargetedError: Something was asked for that can't be; nothing is written then.
    """
    broken: list[DataError] = []
    sections = gather(find_runs(paths, broken), choices, broken)
    if len(sections) > 1 and (fit or compare):
        raise ConfigError(
            f"--compare and --fit… belong to one data set and split scheme, and the runs are of "
            f"{', '.join(section.title for section in sections)}; report on them one by one"
        )
    findings = tuple(analyse(section, compare, root_dir, fit or FitChoice()) for section in sections)
    parts = [_part(found) for found in findings]
    page = load_template(__package__, "page.html").render(
        parts=parts,
        command=command,
        versions=versions(),
        color_of=color_of,
        per_cent=per_cent,
        points=points,
        interval=interval,
        data_address=data_address,
        no_value=NO_VALUE,
    )
    # All is made before anything is written, so that an error or an interruption leaves an earlier report as it was.
    files = {**_csv_files(findings), **dict(file for part in parts for file in part.files), PAGE: _encoded(page)}
    for name, content in files.items():
        write_bytes(Path(out) / name, content)
    return Report(Path(out) / PAGE, findings)


def _encoded(text: str) -> bytes:
    """As UTF-8; of a folder's name that is none, some letters are lost."""
    return text.encode("utf-8", "replace")


@dataclass(frozen=True)
class Part:
    """A section on the page."""

    found: Findings
    table: ResultTable
    figures: tuple[Shown, ...]
    tables: tuple[tuple[str, bytes], ...]

    @property
    def files(self) -> tuple[tuple[str, bytes], ...]:
        """What can be saved from the page and lies beside it, too."""
        return self.tables + tuple(file for figure in self.figures for file in figure.files)


def _part(found: Findings) -> Part:
    table, name = result_table(found.section), found.section.name
    if not found.section.methods:
        return Part(found, table, (), ())
    figures = tuple(_shown(found, *each) for each in _figures(found))
    forms = {"md": as_markdown(table), "tex": as_latex(table)}
    return Part(
        found, table, figures, tuple((f"{name}-results.{form}", _encoded(text)) for form, text in forms.items())
    )


def _figures(found: Findings) -> Iterator[tuple[str, str, Figure]]:
    """Name, title and figure."""
    section = found.section
    title = f"fit ({found.fit.scale}): {found.fit.source}" if found.fit else ""
    rows = [section.row(method) for method in section.methods]
    yield "scatter", "In-domain against out-of-domain", draw_scatter(rows, section.metric_title, found.fit, title)
    yield "curves", "Learning curves", draw_curves(section)


def _shown(found: Findings, name: str, title: str, figure: Figure) -> Shown:
    section = found.section
    captions = {
        "scatter": "Small markers are runs, large ones means with standard errors. On the dashed line a model is as "
        "good on new domains as on those it was trained on.",
        "curves": "Faint lines are runs, bold ones means over the runs that have the epoch. Markers are the epochs "
        "that validation selected.",
    }
    descriptions = {
        "scatter": describe_plot([section.row(method) for method in section.methods], section.metric_title),
        "curves": describe_curves(section),
    }
    svg = as_svg(figure)
    files = (f"{section.name}-{name}.svg", _encoded(svg)), (f"{section.name}-{name}.png", _as_png(figure))
    inline = Markup(for_html(svg))  # ours, with all texts as outlines
    return Shown(name, title, captions[name], descriptions[name], inline, files)


def _as_png(figure: Figure) -> bytes:
    content = io.BytesIO()
    with mpl.rc_context(SETTINGS):
        figure.savefig(content, format="png", dpi=200, bbox_inches="tight", metadata={"Software": None})
    return content.getvalue()


def _csv_files(findings: Sequence[Findings]) -> dict[str, bytes]:
    """The numbers: name and content."""
    sections = [found.section for found in findings]
    files = {
        "results.csv": results_csv(sections).csv,
        "runs.csv": runs_csv(sections).csv,
        "comparisons.csv": comparisons_csv(findings).csv,
    }
    for found in findings:
        if found.robustness:
            files[f"{found.section.name}-effective_robustness.csv"] = robustness_csv(found).csv
        if any(comparison.breakdowns for comparison in found.comparisons):
            files[f"{found.section.name}-breakdown.csv"] = breakdown_csv(found).csv
    return files
