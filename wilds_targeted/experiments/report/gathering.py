"""From log folders to methods and sections; whatever can't be averaged is left out, or kept apart, and said."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wilds_targeted.errors import ConfigError, DataError, UnknownNameError, closest, one_line
from wilds_targeted.experiments.leaderboard.settings import n_epochs, of_interest
from wilds_targeted.experiments.recipes import Recipe, load_recipes
from wilds_targeted.experiments.report.methods import Member, Method, Section
from wilds_targeted.experiments.report.notes import about_failures, about_published, about_seeds, about_versions
from wilds_targeted.experiments.report.paper import find_recipe, why_not_comparable
from wilds_targeted.experiments.runs import RunFolder

_DATA = {"version": "None", "split_scheme": "official", "dataset_kwargs": "{}", "frac": "1.0"}
"""What says which examples a run saw, with WILDS's defaults."""

_IN_DOMAIN = ("id_test", "id_val")
_OUT_OF_DOMAIN = "test"


@dataclass(frozen=True)
class Choices:
    """What a person chose.

    Args:
        titles: Titles by what they replace.
        splits: In-domain, out-of-domain and further splits; empty for the paper's.
        metric: WILDS's column; None for the paper's.
    """

    titles: Mapping[str, str]
    splits: tuple[str, ...] = ()
    metric: str | None = None

    def __post_init__(self) -> None:
        if len(self.splits) == 1 or len(set(self.splits)) != len(self.splits):
            raise ConfigError(
                f"--splits {','.join(self.splits)}: an in-domain split and an out-of-domain one are expected, such as "
                f"id_test,test; further ones may follow"
            )


def gather(runs: Sequence[RunFolder], choices: Choices, broken: Sequence[DataError] = ()) -> list[Section]:
    """Sections of methods of runs.

    Args:
        runs: The runs.
        choices: What a person chose.
        broken: What is wrong with folders that nobody can read; every section tells, since any may lack them.

    Raises:
        DataError: No run can be used; the message says why for the first.
        UnknownNameError: A title is given to what is not there.
    """
    by_data: dict[tuple[str, ...], list[RunFolder]] = defaultdict(list)
    for run in runs:
        by_data[(run.dataset, *(_data_of(run).values()))].append(run)
    sections, known = [], set[str]()
    for _, members in sorted(by_data.items()):
        section, names = _gather_section(members, choices, broken)
        sections.append(section)
        known |= names
    if not any(section.methods for section in sections):
        reasons = [note for section in sections for note in section.notes]
        raise DataError(f"none of the {len(runs)} runs can be reported on; the first reason: {reasons[0]}")
    for name in choices.titles:
        if not known.intersection(_spellings(name)):
            raise UnknownNameError(f"--title {name}=…: there is no such method{closest(name, known)}")
    return sections


def names_of(method: Method) -> list[str]:
    """What a person may call a method by."""
    paths = [str(path) for member in method.members for path in (member.run.path, member.run.path.parent)]
    recipe = [method.recipe.name] if method.recipe else []
    return [method.title, method.transform, *recipe, *paths]


def find_method(section: Section, name: str) -> Method:
    """The method of that name in a section."""
    found = [method for method in section.methods if method.title == name]
    found = found or [method for method in section.methods if _spellings(name).intersection(names_of(method))]
    if len(found) != 1:
        titles = [method.title for method in section.methods]
        what = "several methods are called" if found else "there is no method"
        raise UnknownNameError(f"{what} {name!r}{closest(name, titles)}; the methods: {', '.join(titles)}")
    return found[0]


def _spellings(name: str) -> set[str]:
    """A name as it was given, and as the folder that it may be: shells complete those with a slash."""
    return {name, str(Path(name))}


def _data_of(run: RunFolder) -> dict[str, str]:
    """What says which examples a run saw."""
    return {name: run.config.get(name, default) for name, default in _DATA.items()}


def _gather_section(
    runs: Sequence[RunFolder], choices: Choices, broken: Sequence[DataError]
) -> tuple[Section, set[str]]:
    """A section, and what its methods may be called when they are given titles."""
    first = runs[0]
    known = next((recipe for recipe in load_recipes().values() if recipe.dataset == first.dataset), None)
    metric = choices.metric or (known.metric if known else first.val_metric)
    splits = choices.splits or _splits_of(runs, known)
    notes = [f"Left out: {one_line(error)}" for error in broken]
    members = []
    for run in runs:
        try:
            members.append(_member(run, metric, splits))
        except DataError as error:
            notes.append(f"Left out: {one_line(error)}")
    grouped: dict[tuple[tuple[str, str], ...], list[Member]] = defaultdict(list)
    for member in members:
        grouped[_signature(member.run)].append(member)
    methods = [_method(each, software, notes) for group in grouped.values() for software, each in _by_software(group)]
    methods = _told_apart(methods, notes)
    known_as = {name for method in methods for name in names_of(method)}
    methods = _told_apart([_with_title(method, choices) for method in methods], notes)
    notes += [*about_published(methods), *about_seeds(methods), *about_failures(runs), *about_versions(methods)]
    order = [recipe.name for recipe in load_recipes().values()]
    methods.sort(
        key=lambda method: (
            not method.is_unaugmented,
            order.index(method.recipe.name) if method.recipe and method.recipe.name in order else len(order),
            method.title,
        )
    )
    data = {name: value for name, value in _data_of(first).items() if value not in (_DATA[name], "None")}
    decreasing = metric == first.val_metric and first.val_metric_decreasing
    return Section(first.dataset, data, metric, decreasing, tuple(splits), tuple(methods), tuple(notes)), known_as


def _splits_of(runs: Sequence[RunFolder], known: Recipe | None) -> tuple[str, ...]:
    """The paper's splits of that data set; of another one WILDS's."""
    if known is not None:
        return known.in_domain, known.out_of_domain
    there = {split for run in runs for split in run.splits}
    return next((split for split in _IN_DOMAIN if split in there), _IN_DOMAIN[0]), _OUT_OF_DOMAIN


def _member(run: RunFolder, metric: str, splits: Sequence[str]) -> Member:
    """The run with its selected epoch, if it is finished and has all that is reported."""
    epoch, planned = run.best_epoch(), n_epochs(run)
    done = len(run.table("val"))
    if run.config.get("eval_only") != "True" and done < planned:
        raise DataError(f"{run.path} is unfinished: {done} of {planned} epochs; go on with it, or wait")
    other = {name: value for name, value in run.changed.items() if name in of_interest(run) and name != "n_epochs"}
    if other:
        told = ", ".join(f"{name} {run.config.get(name)}, then {value}" for name, value in other.items())
        raise DataError(f"{run.path} went on with other settings than it began with ({told})")
    for split in splits:
        if split not in run.splits:
            told = closest(split, run.splits) or f"; it has {', '.join(run.splits)}"
            raise DataError(f"{run.path} has no metrics of the split {split!r}{told}")
        rows = run.table(split)
        if epoch not in rows:
            raise DataError(f"{run.path}: epoch {epoch} was selected, and {split}_eval.csv has no row of it")
        if metric not in rows[epoch]:
            raise DataError(f"{run.path}: {split}_eval.csv has no column {metric!r}{closest(metric, rows[epoch])}")
        if math.isnan(rows[epoch][metric]):
            raise DataError(f"{run.path}: {metric} of epoch {epoch}, which was selected, is not a number on {split}")
        if not -1 <= rows[epoch][metric] <= 1:
            raise DataError(
                f"{run.path}: {metric} is {rows[epoch][metric]:g} on {split}, and a report shows shares in per cent: "
                f"scores up to 1 are expected; choose another column with --metric"
            )
    return Member(run, epoch)


def _signature(run: RunFolder) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(_settings(run).items()))


def _settings(run: RunFolder) -> dict[str, str]:
    """What makes a method; what one of WILDS's script and the built-in runner has alone is left out at its default."""
    defaults = {"on_bad_example": "stop", "amp": "None", "gradient_checkpointing": "False", "use_unlabeled_y": "False"}
    settings = {name: value for name, value in of_interest(run).items() if defaults.get(name) != value}
    for name in (*_DATA, "dataset", "algo_log_metric"):
        settings.pop(name, None)
    return settings


def _by_software(members: Sequence[Member]) -> Iterator[tuple[dict[str, str], list[Member]]]:
    """Runs that were made with the same versions; those that do not tell go with the others, where these agree."""
    by_software: dict[tuple[tuple[str, str], ...], list[Member]] = defaultdict(list)
    for member in members:
        by_software[tuple(sorted(member.run.versions.items()))].append(member)
    if len([software for software in by_software if software]) <= 1:
        yield {}, list(members)
        return
    names = sorted({name for software in by_software for name, _ in software})
    for software, those in by_software.items():
        yield dict.fromkeys(names, "not told") | dict(software), those


def _method(members: Iterable[Member], software: Mapping[str, str], notes: list[str]) -> Method:
    """The method of runs with one signature; of a seed that is there twice the first counts."""
    by_seed: dict[int, Member] = {}
    for member in members:
        first = by_seed.setdefault(member.run.seed, member)
        if first is not member:
            notes.append(
                f"Left out: {member.run.path} has the seed {member.run.seed} and the settings of {first.run.path}, "
                f"which counts"
            )
    chosen = tuple(by_seed[seed] for seed in sorted(by_seed))
    run = chosen[0].run
    recipe = find_recipe(run)
    listed = next((member.run.listed.title for member in chosen if member.run.listed and member.run.listed.title), None)
    title = listed or (recipe.title if recipe else _title_of(run))
    method = Method(title, chosen, {**_settings(run), **software}, recipe)
    if recipe is None:
        return replace(method, unlike_paper="no row of its tables is known to be this method")
    reason = why_not_comparable(run, recipe)
    return replace(method, unlike_paper=reason) if reason else replace(method, published=recipe.published)


def _title_of(run: RunFolder) -> str:
    """Of a method that no recipe names."""
    added = run.config.get("additional_train_transform", "None")
    words = [run.algorithm, *(word for word in (run.transform, added) if word not in ("None", "image_base"))]
    return "Unaugmented" if words == ["ERM"] else " + ".join(words)


def _told_apart(methods: Sequence[Method], notes: list[str]) -> list[Method]:
    """Methods of one title get what differs between them into it."""
    by_title: dict[str, list[Method]] = defaultdict(list)
    for method in methods:
        by_title[method.title].append(method)
    apart = []
    for title, same in by_title.items():
        names = sorted({name for method in same for name in method.settings})
        differing = [name for name in names if len({method.settings.get(name) for method in same}) > 1]
        for method in same:
            told = ", ".join(f"{name} {method.settings.get(name, 'none')}" for name in differing)
            apart.append(replace(method, title=f"{title} ({told})") if len(same) > 1 else method)
        if len(same) > 1:
            notes.append(f"{title}: runs that differ in more than their seeds ({', '.join(differing)}) are kept apart.")
    return apart


def _with_title(method: Method, choices: Choices) -> Method:
    names = names_of(method)
    title = next((title for name, title in choices.titles.items() if _spellings(name).intersection(names)), None)
    return replace(method, title=title) if title else method
