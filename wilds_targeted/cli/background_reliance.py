"""``wilds-targeted background-reliance``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from wilds_targeted.experiments.background_reliance import Reliance, SplitReliance

CSV_FILE = "background_reliance.csv"


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    short_help="Tell how far a trained model leans on animal and background.",
)
@click.option("--annotations", metavar="DIR", help="Folder of masks and boxes; under the root directory by default.")
@click.option("--min_confidence", type=float, metavar="C", help="Detections below it do not count (default 0.5).")
@click.option("--runner", hidden=True, help="A flag of `run`: which of them trained makes no difference here.")
@click.option("--wilds", "checkout", hidden=True, help="A flag of `run`, too.")
@click.option("-h", "--help", "wants_help", is_flag=True, help="Show this message and the flags of `run`, and exit.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context,
    annotations: str | None,
    min_confidence: float | None,
    runner: str | None,
    checkout: str | None,
    wants_help: bool,
    flags: tuple[str, ...],
) -> None:
    """Tell how far a trained model leans on the animal and on the background.

    Give the flags with which it was trained; the model is looked for in --log_dir. --eval_splits chooses the splits
    (id_test and test by default), --eval_epoch another epoch than the best.

    \b
      wilds-targeted background-reliance --dataset iwildcam --algorithm ERM --root_dir data --log_dir logs
    """
    from wilds_targeted.experiments.background_reliance import measure_reliance

    if wants_help:
        click.echo(context.get_help() + "\n")
        flags = ("--help",)
    reliance = measure_reliance(flags, annotations=annotations, min_confidence=min_confidence)
    click.echo(as_text(reliance))
    path = reliance.model.parent / CSV_FILE
    write_csv(reliance, path)
    click.echo(f"\n{path} holds the numbers.")


def as_text(reliance: Reliance) -> str:
    """For each split a table and two sentences."""
    head = f"{reliance.model} (epoch {reliance.epoch})"
    return "\n\n".join([head, *(f"{table(split)}\n{sentences(split)}" for split in reliance.splits)])


def table(found: SplitReliance) -> str:
    """Scores of the versions, in per cent."""
    lines = [
        f"{found.split}: {found.rows} of {found.animals} pictures with an animal, those whose foreground is known; "
        f"chance {_per_cent(found.chance)} %",
        f"  {'version':<10}  {'accuracy':>8}  {'macro F1':>8}  {'said empty':>10}",
    ]
    for version, (accuracy, macro_f1, empty) in found.scores.items():
        lines.append(f"  {version:<10}  {_per_cent(accuracy):>8}  {_per_cent(macro_f1):>8}  {_per_cent(empty):>10}")
    return "\n".join(lines)


def sentences(found: SplitReliance) -> str:
    """What the background adds, and what it does alone."""
    original, only_fg, no_fg, only_bg_b = (
        found.scores[version].accuracy for version in ("original", "only_fg", "no_fg", "only_bg_b")
    )
    against = " and ".join(_points(accuracy - found.chance) for accuracy in (no_fg, only_bg_b))
    return (
        f"The background adds {_points(original - only_fg)} points of accuracy to the animal alone "
        f"(original - only_fg).\n"
        f"Without the animal the model is right in {_per_cent(no_fg)} % (no_fg) and {_per_cent(only_bg_b)} % "
        f"(only_bg_b), {against} points against chance."
    )


def write_csv(reliance: Reliance, path: Path) -> None:
    """A line for each split and version, with shares from 0 to 1; whole or not at all."""
    from wilds_targeted.files import written_whole

    with written_whole(path) as arriving, arriving.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ("split", "version", "epoch", "rows", "animals", "accuracy", "macro_f1", "said_empty", "chance")
        )
        for found in reliance.splits:
            for version, scores in found.scores.items():
                writer.writerow(
                    (found.split, str(version), reliance.epoch, found.rows, found.animals, *scores, found.chance)
                )


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f}"


def _points(difference: float) -> str:
    """A difference of shares in points, with its sign.

    >>> [_points(difference) for difference in (0.1234, -0.05, -0.0001)]
    ['+12.3', '-5.0', '+0.0']
    """
    return f"{round(100 * difference, 1) + 0.0:+.1f}"
