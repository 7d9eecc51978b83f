"""``python -m birdcalls_dataset …``: one module a command, each wrapping an importable function."""

from __future__ import annotations

import sys

import click

from birdcalls_dataset.cli import build, download, facts
from wilds_targeted.errors import WildsTargetedError, one_line


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """BirdCalls from the public recordings.

    \b
      python -m birdcalls_dataset download --out recordings
      python -m birdcalls_dataset build --recordings recordings/hawaii --recordings recordings/amazon \\
          --recordings recordings/northeast --out data
      wilds-targeted run --dataset birdcalls --algorithm ERM --root_dir data --transform copypaste_sameregion
    """


for _command in (download.command, build.command, facts.command):
    cli.add_command(_command)


def main() -> None:
    """The entry point: errors of ours and of files end in one line."""
    try:
        cli.main(prog_name="python -m birdcalls_dataset")
    except (WildsTargetedError, OSError) as error:
        sys.exit(f"birdcalls_dataset: error: {one_line(error)}")
