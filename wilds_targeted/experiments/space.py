"""Search spaces: parameters with their distributions, and what a draw from them does to a run's flags."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wilds_targeted.errors import ConfigError, closest

_NAME = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)?")
_FLAG = re.compile(r"--?[A-Za-z]")
_GIVEN_ELSEWHERE = ("seed", "log_dir", "root_dir", "resume", "runner")
_EXAMPLE = "for example lr = { log10_uniform = [-5, -2] }"


@dataclass(frozen=True)
class Distribution:
    """What one parameter is drawn from.

    Args:
        kind: ``log10_uniform``, ``uniform``, ``integers`` or ``choice``.
        values: The two bounds, both included; of a choice what is chosen from.
    """

    kind: str
    values: tuple[Any, ...]

    def at(self, share: float) -> Any:
        """The value below which this share of the distribution lies.

        >>> Distribution("choice", ("a", "b")).at(0.5)
        'b'
        >>> Distribution("integers", (1, 3)).at(0.99)
        3
        """
        if self.kind == "choice":
            return self.values[int(share * len(self.values))]
        low, high = self.values
        if self.kind == "integers":
            return low + int(share * (high - low + 1))
        value = min(low + share * (high - low), high)
        return float(10.0**value) if self.kind == "log10_uniform" else value

    def __str__(self) -> str:
        """For people, in the paper's way of writing.

        >>> [str(Distribution(kind, (1, 2))) for kind in ("log10_uniform", "uniform", "integers", "choice")]
        ['10^Uni(1, 2)', 'Uni(1, 2)', '{1, …, 2}', '{1, 2}']
        """
        if self.kind == "integers":
            return f"{{{self.values[0]}, …, {self.values[1]}}}"
        inner = ", ".join(map(str, self.values))
        return {"choice": f"{{{inner}}}", "uniform": f"Uni({inner})"}.get(self.kind, f"10^Uni({inner})")


@dataclass(frozen=True)
class Tied:
    """A parameter that is another one's value, times a number.

    Args:
        to: The other's name.
        times: The number.
    """

    to: str
    times: float | None

    def __str__(self) -> str:
        return self.to if self.times is None else f"{self.times} * {self.to}"


@dataclass(frozen=True)
class SearchSpace:
    """Parameters with their distributions, and values tied to others.

    Args:
        free: What is drawn, in the order in which it is.
        tied: What follows from that.
    """

    free: Mapping[str, Distribution]
    tied: Mapping[str, Tied]

    @classmethod
    def of(cls, table: Mapping[str, Any], where: str) -> SearchSpace:
        """The search space that a TOML table describes.

        Args:
            table: For each parameter its distribution. A parameter is a flag without its dashes, or ``FLAG.KEY`` for
                one key of a flag that takes ``KEY=VALUE``.
            where: What the table stands in, for messages.

        Raises:
            ConfigError: Something is wrong with a parameter, which the message names.
        """
        free: dict[str, Distribution] = {}
        tied: dict[str, Tied] = {}
        for name, given in table.items():
            here = f"{where}: {name}"
            if not _NAME.fullmatch(name):
                raise ConfigError(f"{here}: a flag without its dashes is expected, or FLAG.KEY in quotation marks")
            if name in _GIVEN_ELSEWHERE:
                raise ConfigError(f"{here}: the sweep sets --{name} itself, it can't be searched")
            if not isinstance(given, Mapping) or not given:
                raise ConfigError(
                    f"{here} is {given!r}: a table is expected, {_EXAMPLE}; what is fixed goes into flags"
                )
            if "tied_to" in given:
                tied[name] = _tied(given, here)
            else:
                free[name] = _distribution(given, here)
        for name, tie in tied.items():
            _check_tie(tie, free, f"{where}: {name}")
        return cls(free, tied)

    def draws(self, number: int, seed: int) -> list[dict[str, Any]]:
        """Draws from one seeded stream; the first ones are the same, however many are asked for.

        Each draw takes one number of the stream for each free parameter. The stream is Python's own, which promises to
        stay the same in later versions.
        """
        stream = random.Random(seed)
        return [
            self._completed({name: each.at(stream.random()) for name, each in self.free.items()}) for _ in range(number)
        ]

    def _completed(self, drawn: dict[str, Any]) -> dict[str, Any]:
        for name, tie in self.tied.items():
            drawn[name] = drawn[tie.to] if tie.times is None else drawn[tie.to] * tie.times
        return drawn


def with_draw(words: Sequence[str], draw: Mapping[str, Any]) -> tuple[str, ...]:
    """A run's flags with a draw's values put in, where they replace what was there.

    Of a flag that is there twice the last counts, as on the command line.

    >>> with_draw(["--lr", "1", "--transform_kwargs", "k=2", "alpha=1"], {"lr": 0.5, "transform_kwargs.alpha": 0.2})
    ('--lr', '0.5', '--transform_kwargs', 'k=2', 'alpha=0.2')
    """
    flags = flag_values(words)
    for name, value in draw.items():
        name, _, key = name.partition(".")
        word = as_word(value)
        if key:
            others = [each for each in flags.get(f"--{name}", ()) if each.partition("=")[0] != key]
            flags[f"--{name}"] = (*others, f"{key}={word}")
        else:
            flags[f"--{name}"] = (word,)
    return tuple(word for flag, values in flags.items() for word in (flag, *values))


def flag_values(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The words after each flag, the last time that it is given.

    >>> flag_values(["--a", "1", "--b=2", "--a", "-3", "4"])
    {'--a': ('-3', '4'), '--b': ('2',)}
    """
    flags: dict[str, tuple[str, ...]] = {}
    flag = None
    for word in words:
        if _FLAG.match(word):
            flag, equals, value = word.partition("=")
            flags[flag] = (value,) if equals else ()
        elif flag is None:
            raise ConfigError(f"flags begin with {word!r}: a flag such as --lr is expected first")
        else:
            flags[flag] = (*flags[flag], word)
    return flags


def as_word(value: object) -> str:
    """A value as it stands on the command line.

    >>> [as_word(value) for value in (True, 1e-05, 3, "cutmix")]
    ['true', '1e-05', '3', 'cutmix']
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_number(value: object) -> bool:
    """Whether it is a finite number; true and false are none.

    >>> [is_number(value) for value in (1, 0.5, True, "1", float("nan"))]
    [True, True, False, False, False]
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _tied(given: Mapping[str, Any], where: str) -> Tied:
    _refuse_others(given, ("tied_to", "times"), where)
    to, times = given["tied_to"], given.get("times")
    if not isinstance(to, str):
        raise ConfigError(f"{where}: tied_to is {to!r}, the name of another parameter is expected")
    if times is not None and not is_number(times):
        raise ConfigError(f"{where}: times is {times!r}, a number is expected")
    return Tied(to, times)


def _check_tie(tie: Tied, free: Mapping[str, Distribution], where: str) -> None:
    if tie.to not in free:
        drawn = ", ".join(free) or "none"
        raise ConfigError(
            f"{where}: tied_to names {tie.to!r}{closest(tie.to, free)}, which is not drawn here; drawn are: {drawn}"
        )
    of = free[tie.to]
    if tie.times is not None and not all(is_number(value) for value in of.values):
        raise ConfigError(f"{where}: {tie.to} is no number everywhere, so it can't be taken {tie.times} times")


def _distribution(given: Mapping[str, Any], where: str) -> Distribution:
    for kind, check in _KINDS.items():
        if kind in given:
            _refuse_others(given, (kind,), where)
            values = given[kind]
            if not isinstance(values, list | tuple):
                raise ConfigError(f"{where}: {kind} is {values!r}, a list is expected")
            problem = check(values)
            if problem:
                raise ConfigError(f"{where}: {kind} is {list(values)}, {problem}")
            return Distribution(kind, tuple(values))
    known = [*_KINDS, "tied_to"]
    name = next(iter(given))
    raise ConfigError(f"{where}: there is no distribution {name!r}{closest(name, known)}; known: {', '.join(known)}")


def _refuse_others(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    others = [key for key in given if key not in known]
    if others:
        raise ConfigError(f"{where}: {others[0]!r} does not go with {known[0]}")


def _not_bounds(values: Sequence[Any]) -> str | None:
    if len(values) != 2 or not all(map(is_number, values)) or not values[0] <= values[1]:
        return "two numbers are expected, the smaller first"
    return None


def _not_exponents(values: Sequence[Any]) -> str | None:
    if _not_bounds(values):
        return _not_bounds(values)
    return None if max(map(abs, values)) <= 300 else "the exponents of ten, such as [-5, -2], are expected"


def _not_integers(values: Sequence[Any]) -> str | None:
    if _not_bounds(values) or not all(isinstance(value, int) for value in values):
        return "two whole numbers are expected, the smaller first"
    return None


def _not_choices(values: Sequence[Any]) -> str | None:
    if not values or not all(isinstance(value, str | bool) or is_number(value) for value in values):
        return "one value or more is expected: numbers, words, true or false"
    return None if len(set(map(as_word, values))) == len(values) else "each value once is expected"


_KINDS: Mapping[str, Callable[[Sequence[Any]], str | None]] = {
    "log10_uniform": _not_exponents,
    "uniform": _not_bounds,
    "integers": _not_integers,
    "choice": _not_choices,
}
