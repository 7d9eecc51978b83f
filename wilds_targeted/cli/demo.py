"""``wilds-targeted demo``."""

from __future__ import annotations

from pathlib import Path

import click

from wilds_targeted.cli._numbers import WholeNumbers
from wilds_targeted.experiments.plan import DATASETS, DEFAULT_DATASET


@click.command()
@click.option(
    "-d",
    "--dataset",
    type=click.Choice(DATASETS),
    default=DEFAULT_DATASET,
    show_default=True,
    help="Which miniature: camera traps, stained tissue, or bird calls.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the data, the runs and the page (demo; demo-NAME for the other data sets).",
)
@click.option("--quick", is_flag=True, help="One seed, fewer pictures and epochs: a minute or two, no comparison.")
@click.option("--world", default=0, show_default=True, type=click.IntRange(0), help="Seed of the generated world.")
@click.option("--seeds", type=WholeNumbers(), help="Seeds of the training runs (0,1,2; with --quick 0).")
@click.option("--jobs", type=click.IntRange(1), help="Runs at a time; by default as many as there are cores.")
def command(
    dataset: str, out: Path | None, quick: bool, world: int, seeds: tuple[int, ...] | None, jobs: int | None
) -> None:
    """Generate a small world, train four methods on it, and show what came out.

    Prints the table of in-domain and out-of-domain scores and writes a page with the plot, sample pictures and every
    command. Called again with the same options it goes on where it was.

    \b
      wilds-targeted demo
      wilds-targeted demo --quick
      wilds-targeted demo --dataset camelyon17
      wilds-targeted demo --dataset birdcalls
    """
    from wilds_targeted.experiments.demo import run_demo
    from wilds_targeted.experiments.results import table

    folder = out or Path("demo" if dataset == DEFAULT_DATASET else f"demo-{dataset}")
    outcome = run_demo(folder, dataset=dataset, world=world, seeds=seeds, quick=quick, jobs=jobs)
    metric = outcome.plan.benchmark.metric_title
    click.echo(table(outcome.rows, metric))
    click.echo(f"{metric[:1].upper()}{metric[1:]} in per cent, mean over seeds (standard error).")
    click.echo(f"The page: {outcome.page}")
