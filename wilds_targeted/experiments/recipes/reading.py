"""From a TOML file to recipes; every fault in one line that names the file and the place."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from wilds_targeted.errors import ConfigError, closest
from wilds_targeted.experiments.recipes.recipe import Miniature, Published, Recipe, with_flags
from wilds_targeted.experiments.space import SearchSpace, flag_values, is_number

T = TypeVar("T")

_SHARED = (
    "dataset flags metric in_domain out_of_domain n_draws tuning_seeds final_seeds images miniature recipes".split()
)
_OWN = "name title flags note search tuned images miniature published".split()
_MINIATURE = "options flags search n_draws tuning_seeds final_seeds".split()
_CELL = "table row metric".split()
_GIVEN_ELSEWHERE = ("--dataset", "-d", "--root_dir", "--seed", "--log_dir", "--runner", "--resume")


def parse_recipes(text: str, where: str, default: Miniature | None = None) -> dict[str, Recipe]:
    """The recipes of a file, by the short name that they have in it.

    Args:
        text: What the file holds.
        where: What errors call it.
        default: The miniature of files that have none of their own.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is not TOML: {error}.") from error
    _only(data, _SHARED, where)
    recipes: dict[str, Recipe] = {}
    for own in _take(data, "recipes", list, where):
        if not isinstance(own, dict):
            raise ConfigError(f"{where}: recipes: tables expected ([[recipes]]), got {own!r}.")
        name = _take(own, "name", str, f"{where}: a recipe")
        if name in recipes:
            raise ConfigError(f"{where}: two recipes are called {name!r}; rename one.")
        recipes[name] = _recipe(data, own, f"{where}: {name}", where, default)
    if not recipes:
        raise ConfigError(f"{where}: it has no recipe; give at least one, in a table [[recipes]].")
    return recipes


def _recipe(
    data: Mapping[str, Any], own: Mapping[str, Any], where: str, file: str, default: Miniature | None
) -> Recipe:
    _only(own, _OWN, where)
    dataset = _take(data, "dataset", str, file)
    searched = _take(own, "search", dict, where, {})
    search = SearchSpace.of(searched, where)
    n_draws = _take(data, "n_draws", int, file, 0) if searched else 0
    if searched and n_draws < 1:
        raise ConfigError(f"{file}: n_draws={n_draws}: at least 1 expected, since {own['name']} searches.")
    metric = _take(data, "metric", str, file)
    title = _take(own, "title", str, where)
    return Recipe(
        name=f"{dataset}/{own['name']}",
        title=title,
        dataset=dataset,
        flags=("--dataset", dataset, *with_flags(_flags(data, file), _flags(own, where))),
        search=search,
        tuned=_tuned(own, search, where),
        n_draws=n_draws,
        tuning_seeds=_seeds(data, "tuning_seeds", file) if searched else (),
        final_seeds=_seeds(data, "final_seeds", file),
        metric=metric,
        in_domain=_take(data, "in_domain", str, file),
        out_of_domain=_take(data, "out_of_domain", str, file),
        published=_published(own, title, metric, where),
        images=_images(own, where) or _images(data, file),
        miniature=_miniature(data, own, searched, where, file, default),
        note=_take(own, "note", str, where, ""),
    )


def _tuned(own: Mapping[str, Any], search: SearchSpace, where: str) -> dict[str, Any]:
    """The authors' values: a whole draw, or none."""
    tuned: dict[str, Any] = _take(own, "tuned", dict, where, {})
    searched = set(search.draws(1, seed=0)[0])
    if tuned and set(tuned) != searched:
        odd = sorted(set(tuned) ^ searched)[0]
        raise ConfigError(f"{where}: tuned must give a value for what is searched, and for nothing else: see {odd!r}.")
    return tuned


def _published(own: Mapping[str, Any], title: str, metric: str, where: str) -> tuple[Published, ...]:
    cells = []
    for row in _take(own, "published", list, where, []):
        if not isinstance(row, dict):
            raise ConfigError(f"{where}: published: tables expected ([[recipes.published]]), got {row!r}.")
        there = f"{where}: published"
        table, named = _take(row, "table", str, there), _take(row, "row", str, there, title)
        column = _take(row, "metric", str, there, metric)
        for split in (key for key in row if key not in _CELL):
            pair = row[split]
            if not (isinstance(pair, list) and len(pair) == 2 and all(is_number(each) for each in pair)):
                raise ConfigError(f"{there}: {split}: [mean, standard error] expected, got {pair!r}.")
            cells.append(Published(table, named, split, column, float(pair[0]), float(pair[1])))
    return tuple(cells)


def _miniature(
    data: Mapping[str, Any],
    own: Mapping[str, Any],
    searched: Mapping[str, Any],
    where: str,
    file: str,
    default: Miniature | None,
) -> Miniature:
    """The file's miniature with what the recipe has of its own; ranges only of what the recipe searches."""
    shared, here = f"{file}: miniature", f"{where}: miniature"
    table = _take(data, "miniature", dict, file, {})
    special = _take(own, "miniature", dict, where, {})
    _only(table, _MINIATURE, shared)
    _only(special, ("flags", "search"), here)
    ranges = {**_take(table, "search", dict, shared, {}), **_take(special, "search", dict, here, {})}
    search = SearchSpace.of({name: ranges.get(name, given) for name, given in searched.items()}, here)
    if not table and default is not None:
        sensible = {name: each for name, each in default.search.free.items() if name in search.free.keys() - ranges}
        small = replace(
            default,
            search=replace(search, free={**search.free, **sensible}),
            flags=with_flags(default.flags, _flags(special, here)),
        )
    else:
        small = Miniature(
            options=_words(table, "options", shared),
            flags=with_flags(_flags(table, shared), _flags(special, here)),
            search=search,
            n_draws=_take(table, "n_draws", int, shared, 1),
            tuning_seeds=_seeds(table, "tuning_seeds", shared, (0,)),
            final_seeds=_seeds(table, "final_seeds", shared, (0,)),
        )
    return small if searched else replace(small, n_draws=0, tuning_seeds=())


def _flags(table: Mapping[str, Any], where: str) -> tuple[str, ...]:
    words = _words(table, "flags", where)
    try:
        flags = flag_values(words)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    for flag in flags:
        if flag in _GIVEN_ELSEWHERE:
            raise ConfigError(f"{where}: {flag} comes with each run and has no place among flags; leave it out.")
    return words


def _words(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    text = _take(table, key, str, where, "")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigError(f"{where}: {key}: not a command line ({error}).") from error


def _seeds(table: Mapping[str, Any], key: str, where: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    seeds = _take(table, key, list, where, None if default is None else list(default))
    if not seeds or not all(_is_count(seed) for seed in seeds) or len(set(seeds)) < len(seeds):
        raise ConfigError(f"{where}: {key} = {seeds}: whole numbers from 0, each once, expected.")
    return tuple(seeds)


def _images(table: Mapping[str, Any], where: str) -> dict[str, int]:
    images: dict[str, int] = _take(table, "images", dict, where, {})
    for split, number in images.items():
        if not _is_count(number):
            raise ConfigError(f"{where}: images: {split} = {number!r}: a whole number expected.")
    return images


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _only(table: Mapping[str, Any], known: tuple[str, ...] | list[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise ConfigError(f"{where}: {key!r} is not known{closest(key, known)}. Known: {', '.join(known)}.")


def _take(table: Mapping[str, Any], key: str, kind: type[T], where: str, default: T | None = None) -> T:
    """The value of that key; the default, if there is one, where it is missing."""
    value = table.get(key, default)
    if value is None:
        raise ConfigError(f"{where}: {key!r} is missing.")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ConfigError(f"{where}: {key} = {value!r}: {_KINDS[kind]} expected.")
    return value


_KINDS: dict[type, str] = {str: "text", int: "a whole number", list: "a list", dict: "a table"}
