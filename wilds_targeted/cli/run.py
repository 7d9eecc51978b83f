"""``wilds-targeted run``."""

from __future__ import annotations

import click


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    short_help="Train and evaluate, with the flags of WILDS's run_expt.py.",
)
@click.option(
    "--runner",
    type=click.Choice(["auto", "wilds", "builtin"]),
    default="auto",
    show_default=True,
    help="Whose training loop: that of a WILDS checkout, or the built-in one with the same flags, files and numbers. "
    "auto takes a checkout where there is one, and says which it took.",
)
@click.option(
    "--wilds",
    "checkout",
    metavar="PATH",
    help="The WILDS checkout; by default $WILDS_CHECKOUT, then ./wilds, then the one that fetch-wilds made.",
)
@click.option("-h", "--help", "wants_help", is_flag=True, help="Show this message and the runner's flags, and exit.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context, runner: str, checkout: str | None, wants_help: bool, flags: tuple[str, ...]
) -> None:
    """Train and evaluate, with the flags of WILDS's run_expt.py and everything registered.

    \b
      wilds-targeted run --dataset iwildcam --algorithm ERM --root_dir data --transform copypaste_samey
    """
    from wilds_targeted.bridge.checkout import find_checkout
    from wilds_targeted.errors import CheckoutError, ConfigError

    found = None
    if runner == "builtin":
        if checkout is not None:
            raise ConfigError("--wilds names a checkout, and --runner builtin uses none: leave one out.")
    else:
        try:
            found = find_checkout(checkout)
        except CheckoutError as error:
            if runner == "wilds" or not error.is_absence:
                raise
    if wants_help:
        click.echo(context.get_help() + "\n")
        flags = ("--help",)
    if found is not None:
        from wilds_targeted.bridge.launch import run_script

        click.echo(f"wilds-targeted: running {found / 'examples' / 'run_expt.py'}", err=True)
        run_script(found, flags)
    else:
        from wilds_targeted.runner.run import run

        why = "" if runner == "builtin" else " (no WILDS checkout found)"
        click.echo(f"wilds-targeted: running the built-in runner{why}", err=True)
        run(flags)
