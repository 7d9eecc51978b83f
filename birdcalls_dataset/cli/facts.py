"""``python -m birdcalls_dataset facts``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("facts")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--print-only", is_flag=True, help="Show them, write nothing.")
def command(folder: Path, print_only: bool) -> None:
    """Count the clips of FOLDER (such as data/birdcalls_v1.0), print the table, and write facts.json beside them.

    The file is checked whenever the data set is loaded.
    """
    from birdcalls_dataset.facts import gather_facts, write_facts

    click.echo(str(gather_facts(folder) if print_only else write_facts(folder)))
