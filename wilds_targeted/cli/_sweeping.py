"""Options that `sweep run` and `reproduce` share."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from wilds_targeted.experiments.sweep.stage import Conduct
    from wilds_targeted.experiments.sweep.unit import Failure

Command = Callable[..., Any]


_OPTIONS = (
    click.option("--draws", type=click.IntRange(1), help="How many draws to try; the recipe's number by default."),
    click.option("--draw-seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the draws."),
    click.option(
        "--runner",
        type=click.Choice(["builtin", "wilds", "auto"]),
        default="builtin",
        show_default=True,
        help="Whose training loop; only the built-in one goes on in the middle of an epoch, to the very same result.",
    ),
    click.option("--jobs", type=click.IntRange(1), help="Runs at a time (the GPUs, or the cores where there is none)."),
    click.option("--gpus", metavar="N,N,…", help="GPUs to hand out, one a run; all that are visible by default."),
    click.option(
        "--retries",
        type=click.IntRange(0),
        default=1,
        show_default=True,
        help="How often a run that fails is tried again, from its checkpoint.",
    ),
    click.option("--storage", metavar="URL", help="An Optuna storage for the ledger, instead of a file in the folder."),
    click.option(
        "--accept-incomplete", is_flag=True, help="Let a draw be chosen, too, of which some runs failed for good."
    ),
)


def sweeping_options(function: Command) -> Command:
    """Give a command the options that say how runs are run."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def conduct_of(options: Mapping[str, Any], root_dir: Path) -> Conduct:
    """How runs are run, from those options."""
    from wilds_targeted.experiments.sweep.backend import LocalPool, parse_gpus
    from wilds_targeted.experiments.sweep.stage import Conduct

    gpus = None if options["gpus"] is None else parse_gpus(options["gpus"])
    return Conduct(
        root_dir=root_dir,
        backends=lambda: LocalPool(options["jobs"], gpus, is_warm=options["runner"] == "builtin"),
        runner=options["runner"],
        retries=options["retries"],
        accept_incomplete=options["accept_incomplete"],
        storage=options["storage"],
        command=shlex.join(["wilds-targeted", *sys.argv[1:]]),
    )


def tell_failures(failures: Mapping[str, Failure]) -> None:
    """List the runs that failed for good."""
    for name, failure in failures.items():
        often = "once" if failure.attempts == 1 else f"{failure.attempts} times"
        click.echo(f"failed {often}: {name}: {failure.message}", err=True)
