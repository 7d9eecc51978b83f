"""What recipes are, in words: a table of all, a page of one, and both as plain data."""

from __future__ import annotations

import dataclasses
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from wilds_targeted.experiments.recipes.recipe import Published, Recipe
from wilds_targeted.experiments.results import NO_VALUE
from wilds_targeted.experiments.space import SearchSpace, flag_values, with_draw
from wilds_targeted.registry import get_registry

WIDTH = 110


def table(recipes: Iterable[Recipe]) -> str:
    """One line a recipe, data set by data set."""
    lines = []
    for dataset, group in groupby(recipes, lambda recipe: recipe.dataset):
        members = list(group)
        rows = [("name", "title", "runs", "ID", "OOD"), *map(_row, members)]
        lines += [
            f"{dataset.upper()}: {members[0].metric}, per cent (standard error), as published",
            *columns(rows),
            "",
        ]
    return "\n".join(lines).rstrip()


def _row(recipe: Recipe) -> tuple[str, ...]:
    cells = (recipe.find_published(split) for split in (recipe.in_domain, recipe.out_of_domain))
    return (recipe.name, recipe.title, str(recipe.n_runs), *(NO_VALUE if cell is None else str(cell) for cell in cells))


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as indented lines, cells below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def page(recipe: Recipe) -> str:
    """All of one recipe."""
    return "\n\n".join("\n".join(block) for block in _blocks(recipe) if block)


def _blocks(recipe: Recipe) -> Iterator[list[str]]:
    yield [f"{recipe.name}: {recipe.title}"]
    yield [*_what_it_does(recipe), *(_wrapped(f"Note: {recipe.note}") if recipe.note else [])]
    capitals = {name: name.rpartition(".")[2].upper() for name in (*recipe.search.free, *recipe.search.tied)}
    yield ["Command:" if not capitals else "Command, what is tuned in capitals:", *command_lines(recipe, capitals)]
    yield _searched(recipe.search)
    if recipe.tuned:
        yield ["With the values that the authors published:", *command_lines(recipe, recipe.tuned)]
    yield ["Protocol:", *(f"  {line}" for step in protocol(recipe) for line in _wrapped(step))]
    yield _cells(recipe)
    reproduce = f"  wilds-targeted reproduce {shlex.quote(recipe.name)}"
    yield [
        "Next:",
        f"{reproduce} --miniature",
        f"{reproduce} --root_dir data --plan",
        f"{reproduce} --root_dir data",
        *([f"{reproduce} --root_dir data --out reproduced-tuned --tuned"] if recipe.tuned else []),
    ]


def _what_it_does(recipe: Recipe) -> list[str]:
    """What the registry tells of the transforms and the algorithm that it may train with."""
    registry = get_registry()
    flags = flag_values(recipe.flags)
    searched = recipe.search.free.get("transform")
    lines = []
    for name in (*flags.get("--transform", ()), *(searched.values if searched else ())):
        spec = registry.transforms.get(name)
        if spec is not None:
            lines += _wrapped(
                f"{name} ({spec.kind.value}): {spec.summary} Randomizes {spec.randomizes}; preserves {spec.preserves}."
            )
    for name in flags.get("--algorithm", ()):
        algorithm = registry.algorithms.get(name)
        if algorithm is not None:
            lines += _wrapped(f"{name}: {algorithm.summary}")
    return lines


def command_lines(recipe: Recipe, draw: Mapping[str, Any]) -> list[str]:
    """The command that trains with that draw, wrapped so that a shell takes it as it is."""
    flags = flag_values(with_draw(recipe.flags, draw))
    # A flag and its values stay on one line.
    parts = [shlex.join([flag, *values]).replace(" ", "\0") for flag, values in flags.items()]
    text = " ".join(["wilds-targeted run --root_dir data", *parts])
    lines = textwrap.wrap(text, WIDTH - 6, break_long_words=False, break_on_hyphens=False)
    return ("  " + " \\\n    ".join(lines)).replace("\0", " ").split("\n")


def _searched(search: SearchSpace) -> list[str]:
    rows = [*search.free.items(), *search.tied.items()]
    return ["Tuned:", *columns([(name, str(how)) for name, how in rows])] if rows else []


def protocol(recipe: Recipe) -> list[str]:
    """How it is tuned and evaluated, step by step."""
    chosen_by = "".join(flag_values(recipe.flags).get("--val_metric", ()))
    steps = [f"Each run takes the epoch with the best {chosen_by} on val." if chosen_by else ""]
    if recipe.n_draws:
        steps += [
            f"{recipe.n_draws} draws, each trained with {_seeds(recipe.tuning_seeds)}; "
            f"a draw that comes twice is trained once.",
            f"The draw with the best {recipe.metric} on val is chosen"
            f"{', averaged over its seeds' if len(recipe.tuning_seeds) > 1 else ''}.",
        ]
    else:
        steps.append("Nothing is tuned.")
    steps.append(
        f"It is trained with {_seeds(recipe.final_seeds)}; mean and standard error over them on "
        f"{recipe.in_domain} (in domain) and {recipe.out_of_domain} (out of domain). {recipe.n_runs} runs in all."
    )
    return [step for step in steps if step]


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    consecutive = list(seeds) == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 2
    return f"seeds {seeds[0]} to {seeds[-1]}" if consecutive else f"seeds {', '.join(map(str, seeds))}"


def _cells(recipe: Recipe) -> list[str]:
    """The published numbers, a line for each table, row and metric."""
    if not recipe.published:
        return []
    splits = list(dict.fromkeys(cell.split for cell in recipe.published))
    found: dict[tuple[str, str, str], dict[str, Published]] = {}
    for cell in recipe.published:
        found.setdefault((cell.table, cell.row, cell.metric), {})[cell.split] = cell
    rows = [
        (*key, *(str(cells[split]) if split in cells else NO_VALUE for split in splits)) for key, cells in found.items()
    ]
    return ["Published, per cent (standard error):", *columns([("table", "row", "metric", *splits), *rows])]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def as_data(recipe: Recipe) -> dict[str, Any]:
    """A recipe as plain data."""
    data = {
        **dataclasses.asdict(dataclasses.replace(recipe, tuned=dict(recipe.tuned), images=dict(recipe.images))),
        "flags": shlex.join(recipe.flags),
        "search": _plain_space(recipe.search),
        "n_runs": recipe.n_runs,
    }
    small = recipe.miniature
    data["miniature"].update(
        options=shlex.join(small.options), flags=shlex.join(small.flags), search=_plain_space(small.search)
    )
    return data


def _plain_space(search: SearchSpace) -> dict[str, Any]:
    """The search space in the form of the TOML files."""
    free = {name: {each.kind: list(each.values)} for name, each in search.free.items()}
    return {**free, **{name: {"tied_to": tie.to, "times": tie.times} for name, tie in search.tied.items()}}
