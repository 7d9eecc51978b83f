"""``python -m birdcalls_dataset build``: an option for every rule of `birdcalls_dataset.build.Rules`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from birdcalls_dataset.build.rules import UNANNOTATED, Rules

Command = Callable[..., Any]

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def _count_or_names(context: click.Context, parameter: click.Parameter, value: str) -> int | tuple[str, ...]:
    """A number, or names with commas between."""
    try:
        return int(value)
    except ValueError:
        names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    if not names:
        raise click.BadParameter(f"{value!r}: a number, or names with commas between, such as UHH_S01,PER_S03")
    return names


_SPECIAL: dict[str, dict[str, Any]] = {
    "unannotated": {"type": click.Choice(UNANNOTATED)},
    "test_microphones": {"type": str, "callback": _count_or_names, "metavar": "COUNT|NAME,NAME,…"},
    "max_per_class": {"type": int},
    "separation_seconds": {"type": float},
    "train_shares": {"type": (float, float, float)},
    "test_shares": {"type": (float, float, float)},
}
"""The rules whose default does not tell what may be given."""


def _rule_options(function: Command) -> Command:
    for rule in reversed(dataclasses.fields(Rules)):
        spellings = dict.fromkeys((f"--{rule.name.replace('_', '-')}", f"--{rule.name}"))
        option = click.option(
            *spellings,
            rule.name,
            **_SPECIAL.get(rule.name, {"type": type(rule.default)}),
            default=rule.default,
            show_default=rule.default is not None,
            help=rule.metadata["help"],
        )
        function = option(function)
    return function


@click.command("build")
@click.option(
    "--recordings",
    required=True,
    multiple=True,
    metavar="DIR…",
    type=_FOLDER,
    help="Folders with recordings (FLAC, WAV) and their annotations.csv, one for each release.",
)
# Click's options take a fixed number of values: the folders after the first one arrive as arguments.
@click.argument("more_recordings", nargs=-1, metavar="", type=_FOLDER)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write birdcalls_v1.0 into; give it to WILDS as --root_dir.",
)
@click.option("--jobs", type=click.IntRange(1), help="Threads; by default as many as there are cores.")
@click.option("--strict", is_flag=True, help="Stop at the first problem with a recording or an annotation.")
@click.option("--restart", is_flag=True, help="Throw away what an unfinished build left, instead of going on with it.")
@_rule_options
def command(
    recordings: tuple[Path, ...],
    more_recordings: tuple[Path, ...],
    out: Path,
    jobs: int | None,
    strict: bool,
    restart: bool,
    **rules: Any,
) -> None:
    """Cut annotated recordings into clips with one species or none, and split them.

    The rest of the options are the rules; their defaults aim at the paper's counts. Whatever is wrong with recordings
    or annotations is told in one line each. A build that was killed goes on when the same command is given again.

    \b
      python -m birdcalls_dataset build --out data \\
          --recordings recordings/hawaii recordings/amazon recordings/northeast
    """
    import json

    from birdcalls_dataset.build import build_birdcalls
    from birdcalls_dataset.facts import FACTS_FILE, Facts

    folders = [*recordings, *more_recordings]
    folder = build_birdcalls(folders, out, Rules(**rules), jobs=jobs, strict=strict, restart=restart)
    click.echo(str(Facts(**json.loads((folder / FACTS_FILE).read_text(encoding="utf-8")))))
    click.echo(f"Wrote {folder}")
