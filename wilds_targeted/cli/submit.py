"""``wilds-targeted submit``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from wilds_targeted.experiments.leaderboard.submission import Bundle


@click.command(short_help="Check finished runs against the leaderboard's rules and pack them for it.")
@click.argument("runs", nargs=-1, required=True, metavar="RUNS...", type=click.Path(path_type=Path))
@click.option("--out", required=True, metavar="BUNDLE", type=click.Path(path_type=Path), help="The folder to write.")
@click.option("--root_dir", required=True, metavar="DIR", help="Folder that holds the data set's folder.")
@click.option(
    "--wilds",
    "checkout",
    metavar="PATH",
    help="The WILDS checkout whose evaluate.py must give the same numbers; by default $WILDS_CHECKOUT, then ./wilds, "
    "then the one that fetch-wilds made, and without any of them no comparison.",
)
@click.option(
    "--seeds",
    metavar="S-S,S,…",
    help="Other seeds than asked for, e.g. 0-4: for BirdCalls, which the leaderboard lacks, and for miniatures.",
)
@click.option("--force", is_flag=True, help="Replace another bundle in that folder; nothing else is ever replaced.")
@click.option("--name", metavar="TEXT", help="The method's name on the leaderboard.")
@click.option("--authors", metavar="TEXT", help="Who submits.")
@click.option("--affiliation", metavar="TEXT", help="Of the authors.")
@click.option(
    "--official/--unofficial",
    "is_official",
    default=None,
    help="Whether you are the method's authors, or did it again.",
)
@click.option("--paper", metavar="LINK", help="Where the method is described.")
@click.option("--code", metavar="LINK", help="Where the code is.")
@click.option("--selection", metavar="TEXT", help="How hyperparameters were selected.")
@click.option("--non-standard", metavar="TEXT", help="A further reason why it is a non-standard submission.")
def command(
    runs: tuple[Path, ...],
    out: Path,
    root_dir: str,
    checkout: str | None,
    seeds: str | None,
    force: bool,
    **told: Any,
) -> None:
    """Check finished runs against the leaderboard's rules and pack them for it.

    RUNS are log folders of one method on one data set, or folders that hold them, by WILDS's run_expt.py or by the
    built-in runner. Whatever breaks a rule is told, a line each, with what to do; then nothing is written. Otherwise
    BUNDLE holds the predictions and predictions.tar.gz to upload, the results as WILDS's evaluate.py writes them, and
    SUBMISSION.md with what the form asks.

    \b
      wilds-targeted submit logs/stain_color_jitter --out bundle --root_dir data
      wilds-targeted submit logs/seed0 logs/seed1 logs/seed2 --out bundle --root_dir data --name "My method"
    """
    from wilds_targeted.experiments.leaderboard.checks import SubmissionError
    from wilds_targeted.experiments.leaderboard.description import Author
    from wilds_targeted.experiments.leaderboard.rules import parse_seeds
    from wilds_targeted.experiments.leaderboard.submission import submit

    try:
        bundle = submit(
            runs,
            out,
            root_dir,
            author=Author(**told),
            seeds=None if seeds is None else parse_seeds(seeds),
            wilds=checkout,
            force=force,
        )
    except SubmissionError as error:
        for violation in error.violations:
            click.echo(violation, err=True)
        count = len(error.violations)
        things = "thing that breaks" if count == 1 else "things that break"
        sys.exit(f"wilds-targeted: error: {count} {things} the rules; nothing was written")
    click.echo(as_text(bundle))


def as_text(bundle: Bundle) -> str:
    """The scores, and what there is to know and to do."""
    metrics = bundle.rule.metrics
    widths = [max(len(split) for split in bundle.results), *(max(len(metric), 13) for metric in metrics)]
    lines = ["  ".join(("split".ljust(widths[0]), *(m.rjust(w) for m, w in zip(metrics, widths[1:], strict=True))))]
    for split, scores in bundle.results.items():
        cells = [f"{100 * scores[metric]:.2f} ({100 * scores[f'{metric}_std']:.2f})" for metric in metrics]
        lines.append("  ".join((split.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True)))))
    lines.append(f"Per cent, mean (standard deviation) over seeds {bundle.rule.seeds_in_words}.")
    return "\n".join([*lines, "", *_remarks(bundle)])


def _remarks(bundle: Bundle) -> list[str]:
    from wilds_targeted.experiments.leaderboard.rules import in_words

    rule = bundle.rule
    remarks = []
    if bundle.left_out:
        remarks.append(
            f"Left out, since {rule.source} asks for seeds {rule.seeds_in_words}: {in_words(bundle.left_out)}."
        )
    if not rule.is_on_leaderboard:
        remarks.append(f"WILDS's leaderboard has no {rule.dataset}; its own evaluator gave the scores.")
    elif rule.is_chosen:
        remarks.append("Seeds by --seeds, not those of WILDS's leaderboard: its script does not take this bundle.")
    elif bundle.checkout is not None:
        remarks.append(f"WILDS's evaluate.py in {bundle.checkout} gives the same numbers.")
    else:
        remarks.append(
            "Not compared with WILDS's evaluate.py: there is no checkout (`wilds-targeted fetch-wilds` makes one)."
        )
    if bundle.is_miniature:
        remarks.append("The data are a generated miniature: nothing for a leaderboard.")
    remarks.append(f"{bundle.path} {'holds the bundle' if bundle.is_new else 'holds this very bundle already'}.")
    if bundle.to_fill_in:
        places = "place" if bundle.to_fill_in == 1 else "places"
        remarks.append(f"SUBMISSION.md has {bundle.to_fill_in} {places} to fill in.")
    return remarks
