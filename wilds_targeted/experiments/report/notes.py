"""What a reader of a report must know of its runs, in sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from wilds_targeted.experiments.data_figures.drawing import count_of
from wilds_targeted.experiments.leaderboard.rules import in_words
from wilds_targeted.experiments.report.methods import Method
from wilds_targeted.experiments.report.paper import differences
from wilds_targeted.experiments.runs import RunFolder


def about_published(methods: Sequence[Method]) -> Iterator[str]:
    """Why the paper's numbers are left out, and what differs where they are not."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for method in methods:
        if method.unlike_paper:
            by_reason[method.unlike_paper].append(method.title)
    for reason, titles in by_reason.items():
        yield f"The paper's numbers are not put beside {', '.join(titles)}: {reason}."
    for method in methods:
        others = differences(method.members[0].run, method.recipe) if method.recipe and method.published else {}
        if others:
            told = ", ".join(f"{name} {value} for {asked}" for name, (value, asked) in others.items())
            yield f"{method.title} has other settings than the paper's, whose numbers stand beside it: {told}."


def about_seeds(methods: Sequence[Method]) -> Iterator[str]:
    """Seeds that other methods have, or that the recipe asks for, and this one lacks."""
    everybody = {seed for method in methods for seed in method.seeds}
    for method in methods:
        asked = set(method.recipe.final_seeds) if method.recipe and method.published else set()
        lacking = (everybody | asked).difference(method.seeds)
        if lacking:
            whose = "other methods have" if lacking <= everybody else "the recipe asks for"
            yield (
                f"{method.title} has {count_of(len(method.seeds), 'seed')} ({in_words(method.seeds)}) and lacks "
                f"{in_words(lacking)}, which {whose}."
            )


def about_failures(runs: Sequence[RunFolder]) -> Iterator[str]:
    """Runs that a sweep lost."""
    for listed in {run.listed.path: run.listed for run in runs if run.listed}.values():
        if listed.failed:
            told = ", ".join(unit if seed is None else f"{unit} (seed {seed})" for unit, seed in listed.failed)
            yield f"{listed.path} tells of failed runs, which no mean includes: {told}."


def about_versions(methods: Sequence[Method]) -> Iterator[str]:
    """Software that differs between runs."""
    runs = [member.run for method in methods for member in method.members]
    silent = [run for run in runs if not run.versions]
    if silent and len(silent) < len(runs):
        yield f"{len(silent)} of {len(runs)} runs do not tell with which versions they were made (WILDS's script)."
    for name in dict.fromkeys(name for run in runs for name in run.versions):
        by_version: dict[str, int] = defaultdict(int)
        for run in runs:
            if name in run.versions:
                by_version[run.versions[name]] += 1
        if len(by_version) > 1:
            told = "; ".join(f"{version} ({count_of(count, 'run')})" for version, count in sorted(by_version.items()))
            yield f"The runs were made with different versions of {name}: {told}."
