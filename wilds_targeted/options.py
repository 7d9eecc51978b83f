"""Add the registered options to a parser: that of `run_expt.py`, or the built-in runner's."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from wilds_targeted.errors import PluginError
from wilds_targeted.registry import get_registry


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add every registered option, and let errors tell of plugins that could not be loaded."""
    registry = get_registry()
    group = parser.add_argument_group("wilds-targeted")
    for name, option in registry.options.items():
        try:
            group.add_argument(
                option.name,
                dest=option.destination,
                help=option.help.replace("%", "%%"),
                type=_explaining(option.type),
                default=option.default,
                nargs=option.nargs,
                const=option.const,
                metavar=option.metavar,
            )
        except argparse.ArgumentError:
            plugin = registry.options.plugin_of[name]
            raise PluginError(
                f"plugin {plugin.name!r} of {plugin} adds the option {name}, which run_expt.py has already."
            ) from None
    if registry.broken:
        fail = parser.error
        # Which names a plugin would have brought can't be known; that it is missing can.
        parser.error = lambda message: fail(message + registry.transforms.why_missing())  # type: ignore[method-assign]


def _explaining(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """Show the message of a ValueError, where `argparse` would show the function's name."""

    def converted(word: str) -> Any:
        try:
            return convert(word)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return converted
