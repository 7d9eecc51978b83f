"""``wilds-targeted reproduce``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from wilds_targeted.cli._numbers import WholeNumbers
from wilds_targeted.cli._sweeping import conduct_of, sweeping_options, tell_failures
from wilds_targeted.errors import WildsTargetedError, one_line


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option(
    "--root-dir",
    "--root_dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that holds the data set's folder; not needed with --miniature.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Takes a folder for each recipe (reproduced; with --miniature reproduced-miniature).",
)
@click.option("--tuned", is_flag=True, help="Take the values that the paper's authors published, and tune nothing.")
@click.option("--miniature", is_flag=True, help="The same protocol on generated data with small budgets: minutes.")
@click.option("--plan", is_flag=True, help="Print every command and an estimate of the cost, and run nothing.")
@click.option("--seeds", type=WholeNumbers(), help="Final seeds; the paper's by default.")
@click.option(
    "--images-per-second",
    type=click.FloatRange(0, min_open=True),
    help="With --plan: how many images a second one run trains on.",
)
@sweeping_options
def command(
    names: tuple[str, ...],
    root_dir: Path | None,
    out: Path | None,
    tuned: bool,
    miniature: bool,
    plan: bool,
    seeds: tuple[int, ...] | None,
    images_per_second: float | None,
    **options: Any,
) -> None:
    """Repeat rows of the paper: tuning draws, the choice on validation, the final seeds.

    NAME is a recipe (`wilds-targeted recipes`), several of them, or a pattern in quotation marks. Prints each row, ours
    beside the published. Called again with the same options it goes on where it was; `wilds-targeted sweep status OUT`
    tells how far it is, and `wilds-targeted report OUT` makes tables and figures.

    \b
      wilds-targeted reproduce iwildcam/copypaste_samey --root_dir data --plan
      wilds-targeted reproduce iwildcam/copypaste_samey --root_dir data
      wilds-targeted reproduce iwildcam/copypaste_samey --root_dir data --out reproduced-tuned --tuned
      wilds-targeted reproduce 'camelyon17/*' --miniature
    """
    from wilds_targeted.experiments.planning import plan_lines
    from wilds_targeted.experiments.protocol import Protocol, find_recipes
    from wilds_targeted.experiments.reproduce import reproduce

    if root_dir is None and not miniature:
        raise click.UsageError("give --root_dir, or --miniature for generated data")
    if root_dir is not None and miniature:
        raise click.UsageError("--miniature generates its own data: leave out --root_dir")
    if root_dir is not None and not root_dir.is_dir() and not plan:
        raise click.UsageError(f"there is no folder {root_dir}: give the one that holds the data set's as --root_dir")
    out = out or Path("reproduced-miniature" if miniature else "reproduced")
    conduct = conduct_of(options, root_dir or out)
    failed = False
    for recipe in find_recipes(names):
        try:
            protocol = Protocol.of(
                recipe,
                tuned=tuned,
                miniature=miniature,
                n_draws=options["draws"],
                draw_seed=options["draw_seed"],
                seeds=seeds,
            )
            if plan:
                with conduct.backends() as backend:
                    at_a_time = backend.at_a_time
                click.echo("\n".join(plan_lines(protocol, out, conduct, at_a_time, images_per_second)))
                continue
            outcome = reproduce(protocol, out, conduct)
            tell_failures(outcome.failures)
            failed |= bool(outcome.failures)
            click.echo(str(outcome))
        except WildsTargetedError as error:
            # The others are done all the same: they may be days of work.
            click.echo(f"wilds-targeted: error: {one_line(error)}", err=True)
            failed = True
    if failed:
        sys.exit(1)
