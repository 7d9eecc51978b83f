"""``wilds-targeted fetch-wilds``."""

from __future__ import annotations

import click


@click.command()
@click.option("--from", "source", metavar="PATH", help="A clone or a copy of WILDS on this machine, for no network.")
def command(source: str | None) -> None:
    """Clone WILDS at the tested commit into the cache folder, where `wilds-targeted run` finds it."""
    from wilds_targeted.bridge.checkout import fetch_checkout

    folder = fetch_checkout(source)
    click.echo(f"WILDS is at {folder}. Next: wilds-targeted run --dataset iwildcam …")
