"""``wilds-targeted …``: one module a command, each wrapping an importable function."""

from __future__ import annotations

import importlib
import sys

import click

from wilds_targeted import __version__
from wilds_targeted.errors import WildsTargetedError, one_line

_COMMANDS = {
    "background-reliance": "Tell how far a trained model leans on animal and background.",
    "contact-sheet": "Draw every registered transform, before and after, on generated data.",
    "demo": "Train four methods on a generated world and write a page of the results.",
    "fetch-wilds": "Clone WILDS, whose scripts `run` uses, into the cache folder.",
    "figures": "Draw a data set's domains: samples, colours by class, labels by domain.",
    "miniature": "Write a small generated data set in WILDS's on-disk format.",
    "plugins": "List what is registered, or tell all of one thing.",
    "preview": "Draw originals and augmented images side by side.",
    "recipes": "List the rows of the paper's tables, or tell all of one.",
    "report": "Make tables, figures and a page of finished runs.",
    "reproduce": "Repeat a row of the paper: tune, choose on validation, train the final seeds.",
    "run": "Train and evaluate, with the flags of WILDS's run_expt.py.",
    "simulate": "Simulate the paper's linear setting, or ask what targeted augmentation would buy.",
    "submit": "Check finished runs against the leaderboard's rules and pack them for it.",
    "sweep": "Train many runs: a search space times draws times seeds.",
}


class _LazyGroup(click.Group):
    """Imports a command when it is called, so that `--help` does not wait for torch."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wilds-targeted")
def cli() -> None:
    """Targeted augmentations, one flag away in the WILDS benchmark.

    \b
    All of it on generated data, in a few minutes:
      wilds-targeted demo

    \b
    Step by step:
      wilds-targeted miniature iwildcam --root_dir data
      wilds-targeted preview --dataset iwildcam --root_dir data --transform copypaste_samey --out preview.png
      wilds-targeted run --dataset iwildcam --algorithm ERM --root_dir data --transform copypaste_samey
    """


def main() -> None:
    """The console script: errors of ours, of files and of the installation end in one line."""
    try:
        cli.main(prog_name="wilds-targeted")
    except (WildsTargetedError, OSError) as error:
        sys.exit(f"wilds-targeted: error: {one_line(error)}")
    except ImportError as error:
        sys.exit(
            f"wilds-targeted: error: this installation is broken ({one_line(error)}); "
            f"mend it with `pip install --force-reinstall wilds-targeted`."
        )
