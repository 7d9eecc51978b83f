"""``wilds-targeted figures``."""

from __future__ import annotations

import re
import shlex
import sys

import click


def _words(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Words with commas between."""
    return tuple(dict.fromkeys(word.strip() for word in value.split(",") if word.strip()))


def _domains(context: click.Context, parameter: click.Parameter, value: str) -> int | tuple[str, ...]:
    """A whole number is how many; anything else names."""
    return int(value) if re.fullmatch(r"-?[0-9]+", value) else _words(context, parameter, value)


@click.command()
@click.argument("dataset")
@click.option("--root-dir", "--root_dir", required=True, metavar="DIR", help="Folder that holds the data set's folder.")
@click.option("--out", default="figures", show_default=True, metavar="DIR", help="Folder to write into.")
@click.option("--split", default="train", show_default=True, help="Whose domains.")
@click.option("--split-scheme", "--split_scheme", metavar="NAME", help="The data set's split scheme.  [the data set's]")
@click.option(
    "--groupby",
    multiple=True,
    metavar="FIELD",
    help="Metadata field that makes a domain; may be given several times.  [location, hospital, microphone, …]",
)
@click.option(
    "--domains",
    default="6",
    show_default=True,
    callback=_domains,
    metavar="N|NAME,NAME",
    help="How many domains samples and colours show, drawn at random; or which, such as 0,3 or 'hospital 3'.",
)
@click.option("--examples", type=click.IntRange(1, 50), default=5, show_default=True, help="Pictures of each domain.")
@click.option(
    "--pictures",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Pictures of each domain and class that the histograms are made of, at most.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Chooses domains and pictures.")
@click.option(
    "--figures",
    default="samples,colours,labels",
    show_default=True,
    callback=_words,
    metavar="NAME,…",
    help="Which figures; labels need no pictures.",
)
@click.option(
    "--format", "formats", default="png,svg", show_default=True, callback=_words, metavar="NAME,…", help="Which files."
)
@click.option(
    "--on-bad-example",
    "--on_bad_example",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="What to do with a picture that can't be read; skip lists it.",
)
@click.option("--progress-bar/--no-progress-bar", "--progress_bar/--no_progress_bar", default=None, help="Show a bar.")
def command(
    dataset: str,
    root_dir: str,
    out: str,
    split: str,
    split_scheme: str | None,
    groupby: tuple[str, ...],
    domains: int | tuple[str, ...],
    examples: int,
    pictures: int,
    seed: int,
    figures: tuple[str, ...],
    formats: tuple[str, ...],
    on_bad_example: str,
    progress_bar: bool | None,
) -> None:
    """Draw a data set's domains, as in the paper's appendix A.

    Samples (columns are cameras, hospitals, microphones), histograms of colours by class, and labels by split and by
    domain: PNG and SVG files, the numbers as CSV, and one page with everything. The same seed draws the same.

    \b
      wilds-targeted figures camelyon17 --root_dir data --out figures
      wilds-targeted figures iwildcam --root_dir data --domains 12,40,41 --figures samples,labels
    """
    from wilds_targeted.api import get_dataset
    from wilds_targeted.experiments.data_figures.wanted import Wanted

    wanted = Wanted(
        split=split,
        groupby=groupby,
        domains=domains,
        examples=examples,
        pictures=pictures,
        seed=seed,
        figures=figures,
        formats=formats,
        skip_bad=on_bad_example == "skip",
        progress=progress_bar,
    )
    from wilds_targeted.experiments.data_figures.report import NOT_DRAWN, draw_data_figures

    options = {} if split_scheme is None else {"split_scheme": split_scheme}
    full = get_dataset(dataset, root_dir=root_dir, **options)
    written = draw_data_figures(full, out, wanted, f"wilds-targeted {shlex.join(sys.argv[1:])}")
    for figure in written.figures:
        click.echo(f"{figure.name}: {figure.caption}")
    if dataset in NOT_DRAWN:
        click.echo(NOT_DRAWN[dataset])
    click.echo(f"The page: {written.page}")
