"""``SUBMISSION.md``: what the form asks, from what the runs and the registry tell."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import jinja2

from wilds_targeted.errors import DataError
from wilds_targeted.experiments.leaderboard.bundle import ARCHIVE, SUBMISSION
from wilds_targeted.experiments.leaderboard.checks import Replicate
from wilds_targeted.experiments.leaderboard.rules import GUIDELINES, Rule, in_words
from wilds_targeted.experiments.leaderboard.scoring import Results
from wilds_targeted.experiments.leaderboard.selection import how_tuned
from wilds_targeted.experiments.leaderboard.settings import (
    NONE,
    of_interest,
    reasons_against_standard,
    transforms_of,
)
from wilds_targeted.experiments.page import versions
from wilds_targeted.experiments.runs import RunFolder
from wilds_targeted.registry import get_registry

TO_FILL_IN = "**TO FILL IN**"


@dataclass(frozen=True)
class Author:
    """What only the people who submit know; what they don't tell stays to be filled in.

    Args:
        name: The method's name; by default the recipe's, or the names of algorithm and augmentation.
        authors: Their names.
        affiliation: Of the authors.
        is_official: Whether they are the method's authors; None leaves it to be filled in.
        paper: Where it is described.
        code: Where the code is.
        selection: How hyperparameters were selected; a tuned recipe's folder tells it by itself.
        non_standard: A further reason why it is a non-standard submission.
    """

    name: str | None = None
    authors: str | None = None
    affiliation: str | None = None
    is_official: bool | None = None
    paper: str | None = None
    code: str | None = None
    selection: str | None = None
    non_standard: str | None = None


@dataclass(frozen=True)
class Facts:
    """What is told of a bundle beside what its author says.

    Args:
        rule: The rules it keeps.
        replicates: Its runs.
        results: Means and standard deviations.
        left_out: Seeds that are there and are not in it, in words.
        archive: The archive's bytes.
        is_miniature: Whether the data are generated.
        compared: What was compared with WILDS's script, a sentence; empty for nothing.
    """

    rule: Rule
    replicates: Sequence[Replicate]
    results: Results
    left_out: str
    archive: bytes
    is_miniature: bool
    compared: str


def describe(facts: Facts, author: Author) -> str:
    """The text of ``SUBMISSION.md``."""
    runs = [replicate.run for replicate in facts.replicates]
    run = runs[0]
    settings = of_interest(run)
    reasons = reasons_against_standard(run) + ([author.non_standard] if author.non_standard else [])
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.filters["number"] = lambda value: f"{100 * value:.2f}"
    source = resources.files(__package__).joinpath(f"{SUBMISSION}.jinja").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        rule=facts.rule,
        replicates=facts.replicates,
        results=facts.results,
        left_out=facts.left_out,
        is_miniature=facts.is_miniature,
        compared=facts.compared,
        author=_told(author, run),
        archive=ARCHIVE,
        archive_sha256=hashlib.sha256(facts.archive).hexdigest(),
        guidelines=GUIDELINES,
        to_fill_in=TO_FILL_IN,
        chosen_by=f"{'smallest' if run.val_metric_decreasing else 'best'} `{run.val_metric}` on `val`",
        algorithm=run.algorithm,
        model=settings.get("model", NONE),
        base_steps=run.transform,
        settings={name: _in_a_cell(value) for name, value in settings.items()},
        augmentations=_augmentations(run),
        parameters=_count_parameters(run),
        weights=_foreign_weights(settings),
        reasons=[_in_a_cell(reason) for reason in reasons],
        recipe=run.listed.recipe if run.listed is not None else None,
        versions=_all_versions(runs),
    )


def count_open(text: str) -> int:
    """How many places are to be filled in, without the sentence that says so."""
    return sum(TO_FILL_IN in line for line in text.splitlines() if not line.startswith("To submit"))


def _told(author: Author, run: RunFolder) -> dict[str, str]:
    """What the author says, each ready for a cell of a table."""
    title = run.listed.title if run.listed is not None else None
    selection = author.selection or how_tuned(run)
    official = {None: TO_FILL_IN, True: "yes, by the method's authors", False: "no, a re-implementation"}
    told = {
        "name": author.name or title or " + ".join([run.algorithm, *_registered(run)]),
        "authors": author.authors or TO_FILL_IN,
        "affiliation": author.affiliation or TO_FILL_IN,
        "official": official[author.is_official],
        "paper": author.paper or TO_FILL_IN,
        "code": author.code or TO_FILL_IN,
        "selection": selection or f"{TO_FILL_IN}: what was searched, and by which score on `val`.",
        "selection_short": "told below" if selection else TO_FILL_IN,
    }
    return {name: _in_a_cell(text) for name, text in told.items()}


def _in_a_cell(text: str) -> str:
    """One line that ends no cell of a table.

    >>> _in_a_cell("a | b\\nc")
    'a \\\\| b c'
    """
    return " ".join(text.split()).replace("|", r"\|")


def _registered(run: RunFolder) -> list[str]:
    return [name for name in transforms_of(run) if name in get_registry().transforms]


def _augmentations(run: RunFolder) -> list[Any]:
    """What the registry says of each."""
    return [get_registry().transforms[name] for name in _registered(run)]


def _foreign_weights(settings: Mapping[str, str]) -> str:
    """Weights that a model starts from, in words; empty where there are none."""
    found = []
    if "pretrained_model_path" in settings:
        found.append(f"`{settings['pretrained_model_path']}`")
    try:
        kwargs = dict(ast.literal_eval(settings.get("model_kwargs", "{}")))
    except (SyntaxError, TypeError, ValueError):  # a log that somebody wrote to
        kwargs = {}
    asked = {name: value for name, value in kwargs.items() if name in ("pretrained", "weights") and value}
    if asked:
        found.append(
            f"those of `{settings['model']}` ({', '.join(f'{name}={value}' for name, value in asked.items())})"
        )
    return ", ".join(map(_in_a_cell, found))


def _count_parameters(run: RunFolder) -> str:
    """How many numbers were learned, from the file of the best model; statistics that are only gathered don't count."""
    import torch

    from wilds_targeted.models.weights import read_state

    path = run.path / f"{run.dataset}_seed:{run.seed}_epoch:best_model.pth"
    try:
        state = read_state(str(path))["algorithm"]
        # Some algorithms name a tensor twice, as a part of the model and as a featurizer.
        learned = {
            (value.untyped_storage().data_ptr(), value.storage_offset()): value.numel()
            for name, value in state.items()
            if isinstance(value, torch.Tensor) and value.is_floating_point() and "running_" not in name
        }
    except (DataError, KeyError, AttributeError):
        return f"{TO_FILL_IN} (there is no readable file of the model in {_in_a_cell(run.path.name)})"
    return f"{sum(learned.values()):,}"


def _all_versions(runs: Iterable[RunFolder]) -> list[str]:
    """Of what trained, where the runs tell, and of what scored; runs that differ are told apart."""
    trained: dict[str, list[int]] = {}
    for run in runs:
        told = ", ".join(f"{name} {version}" for name, version in run.versions.items())
        trained.setdefault(told, []).append(run.seed)
    lines = []
    for told, seeds in trained.items():
        of = "" if len(trained) == 1 else f" (seeds {in_words(seeds)})"
        lines.append(f"trained with{of} {told or f'{TO_FILL_IN}: the runs do not tell'}")
    return [*lines, f"scored with {', '.join(f'{name} {version}' for name, version in versions())}"]
