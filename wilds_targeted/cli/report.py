"""``wilds-targeted report``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click


def _titles(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """NAME=TITLE words as a dictionary."""
    pairs = [value.partition("=") for value in values]
    for name, equals, title in pairs:
        if not (name and equals and title):
            raise click.BadParameter(f"{name!r}: NAME=TITLE is expected, such as copypaste_samey='Copy-Paste'")
    return {name: title for name, _, title in pairs}


def _splits(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Names with commas between."""
    return tuple(word.strip() for word in value.split(",") if word.strip()) if value else ()


@click.command(short_help="Make tables, figures and a page of finished runs.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUNS…")
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the page (index.html), tables, figures and CSV files.",
)
@click.option(
    "--title",
    "titles",
    multiple=True,
    callback=_titles,
    metavar="NAME=TITLE",
    help="A title of your own for a method; NAME is its transform, its title, or a log folder.",
)
@click.option(
    "--splits",
    callback=_splits,
    metavar="ID,OOD[,…]",
    help="Splits to report, in-domain and out-of-domain first; the paper's by default.",
)
@click.option(
    "--metric",
    metavar="COLUMN",
    help="WILDS's column to report, such as F1-macro_all; the paper's by default.",
)
@click.option(
    "--root_dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where the data sets are: adds who gains and who loses by domain and class, and intervals over test domains.",
)
@click.option(
    "--compare",
    nargs=2,
    multiple=True,
    metavar="A B",
    help="Difference of the methods A and B; every method against the unaugmented one by default.",
)
@click.option(
    "--fit",
    nargs=2,
    type=float,
    metavar="SLOPE INTERCEPT",
    help="Line of OOD against ID shares (0 to 1) for effective robustness.",
)
@click.option(
    "--fit-to",
    multiple=True,
    metavar="METHOD",
    help="Fit that line to the runs of a method; may be given again for more methods.",
)
@click.option(
    "--fit-points",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE.csv",
    help="Fit it to points: columns id and ood, or results.csv of Miller et al.'s testbed.",
)
@click.option(
    "--fit-scale",
    type=click.Choice(("linear", "probit", "logit")),
    default="linear",
    show_default=True,
    help="Scale of both axes in which the line is straight.",
)
def command(
    runs: tuple[Path, ...],
    out: Path,
    titles: dict[str, str],
    splits: tuple[str, ...],
    metric: str | None,
    root_dir: Path | None,
    compare: tuple[tuple[str, str], ...],
    fit: tuple[float, float] | None,
    fit_to: tuple[str, ...],
    fit_points: Path | None,
    fit_scale: str,
) -> None:
    """Make tables, figures and a page of finished runs.

    RUNS are log folders of WILDS's run_expt.py or of `run`, or folders that hold some, such as those of `sweep` and
    `reproduce`. Runs that differ in nothing but their seeds are a method; what is missing, mixed or broken is said.

    \b
      wilds-targeted report logs --out report
      wilds-targeted report logs --out report --root_dir data
      wilds-targeted report logs --out report --compare "Copy-Paste (Same Y)" RandAugment
      wilds-targeted report logs --out report --fit-points results.csv --fit-scale probit
    """
    from wilds_targeted.experiments.report.analysis import FitChoice
    from wilds_targeted.experiments.report.gathering import Choices
    from wilds_targeted.experiments.report.tables import as_text, result_table
    from wilds_targeted.experiments.report.write import write_report

    report = write_report(
        runs,
        out,
        Choices(titles, splits, metric),
        compare=compare,
        root_dir=root_dir,
        fit=FitChoice(fit, fit_to, fit_points, fit_scale),
        command=f"wilds-targeted {shlex.join(sys.argv[1:])}",
    )
    for found in report.findings:
        section = found.section
        click.echo(f"{section.title}, per cent, mean over seeds (standard error):")
        if section.methods:
            click.echo(as_text(result_table(section)))
        for note in section.notes:
            click.echo(f"note: {note}", err=True)
    click.echo(f"The page: {report.page}")
