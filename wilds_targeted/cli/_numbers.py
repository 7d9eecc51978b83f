"""Lists of numbers on the command line."""

from __future__ import annotations

from typing import Any

import click


class WholeNumbers(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4 only
    """Different whole numbers with commas between, such as ``0,1,2``; they become a tuple.

    Args:
        lowest: The lowest that is allowed.
    """

    name = "N,N,…"

    def __init__(self, lowest: int = 0) -> None:
        self.lowest = lowest

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> tuple[int, ...]:
        """The numbers, from the word or from Python."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(int(word) for word in str(value).split(","))
        except ValueError:
            numbers = ()
        if not numbers or min(numbers) < self.lowest or len(set(numbers)) < len(numbers):
            self.fail(
                f"{value!r}: different whole numbers with commas between are expected, from {self.lowest} up",
                parameter,
                context,
            )
        return numbers
