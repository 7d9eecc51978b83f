"""``wilds-targeted run``."""

from __future__ import annotations

import click


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run WILDS's run_expt.py with everything registered.",
)
@click.option(
    "--wilds",
    "checkout",
    metavar="PATH",
    help="The WILDS checkout; by default $WILDS_CHECKOUT, then ./wilds, then the one that fetch-wilds made.",
)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def command(checkout: str | None, flags: tuple[str, ...]) -> None:
    """Run the run_expt.py of a WILDS checkout, not a byte of it changed, with everything registered.

    Takes the flags of run_expt.py; `wilds-targeted run -- --help` lists them. `--wilds` comes first.

    \b
      wilds-targeted run --dataset iwildcam --algorithm ERM --root_dir data --transform copypaste_samey
    """
    from wilds_targeted.bridge.checkout import find_checkout
    from wilds_targeted.bridge.launch import run_script

    found = find_checkout(checkout)
    click.echo(f"wilds-targeted: running {found / 'examples' / 'run_expt.py'}", err=True)
    run_script(found, flags)
