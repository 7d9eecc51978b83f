"""``wilds-targeted sweep …``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from wilds_targeted.cli._numbers import WholeNumbers
from wilds_targeted.cli._sweeping import conduct_of, sweeping_options, tell_failures


@click.group()
def command() -> None:
    """Train many runs: a search space times draws times seeds.

    A sweep loses nothing when it is killed: the same command goes on with what is left.

    \b
      wilds-targeted sweep run mine.toml --root_dir data --out sweeps/mine
      wilds-targeted sweep run iwildcam/copypaste_samey --root_dir data --out sweeps/paste --draws 20
      wilds-targeted sweep status sweeps/mine
    """


@command.command("run")
@click.argument("recipe", metavar="RECIPE|FILE.toml")
@click.option(
    "--root-dir",
    "--root_dir",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder that holds the data set's folder.",
)
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder of the sweep.")
@click.option("--seeds", type=WholeNumbers(), help="Seeds of each draw; the recipe's by default.")
@sweeping_options
def run(recipe: str, root_dir: Path, out: Path, seeds: tuple[int, ...] | None, **options: Any) -> None:
    """Train every draw with every seed, and tell which is best on validation.

    RECIPE is one of the paper's (`wilds-targeted recipes`), or a file in the same form. The folder gets units/ with a
    log folder for each run, the ledger (an Optuna study), results.csv, and runs.json, from which `report` takes the
    runs of the best draw. Called again, the command does what is not done; more draws or seeds may be asked for.
    """
    from wilds_targeted.experiments.recipes import get_recipe
    from wilds_targeted.experiments.sweep.records import draws_table
    from wilds_targeted.experiments.sweep.sweep import run_sweep, search_of

    search = search_of(get_recipe(recipe), options["draws"], seeds, options["draw_seed"])
    outcome = run_sweep(search, out, conduct_of(options, root_dir))
    click.echo(draws_table(search.recipe, outcome.draws, None if outcome.chosen is None else outcome.chosen.number))
    click.echo(f"{search.recipe.metric} in per cent, mean over seeds (standard error); * is the best on validation.")
    tell_failures(outcome.failures)
    if outcome.failures:
        sys.exit(1)


@command.command("status")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As JSON: a list with an entry for each sweep.")
def status(folder: Path, as_json: bool) -> None:
    """Tell how far a sweep or a reproduction is: units done, running, failed, left, and the time left.

    Reads the folder alone: also while the sweep runs, and after it was killed. FOLDER is what was given as --out.
    """
    from wilds_targeted.experiments.sweep.status import read_status

    found = read_status(folder)
    if as_json:
        click.echo(json.dumps([each.as_json() for each in found], indent=2))
    else:
        click.echo("\n".join(str(each) for each in found))


@command.command("unit", hidden=True)
@click.argument("params")
def unit(params: str) -> None:
    """Do one unit; its parameters are JSON, as the driver hands them over."""
    from wilds_targeted.experiments.sweep.work import do_unit

    do_unit(json.loads(params))
