"""Add the registered options to the parser that `run_expt.py` makes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from wilds_targeted import _report_inactive
from wilds_targeted.errors import PluginError, WildsTargetedError

_LANDMARK = "--additional_train_transform"
"""An option that only the parser of `run_expt.py` has."""


def extend_parser_on_first_use() -> None:
    """Wait for WILDS's parser to parse, add the options just before, and leave `argparse` as it was."""
    original = argparse.ArgumentParser.parse_args

    def parse_args(self: argparse.ArgumentParser, args: Any = None, namespace: Any = None) -> Any:
        if _LANDMARK in self._option_string_actions:
            argparse.ArgumentParser.parse_args = original  # type: ignore[method-assign]
            _extend(self)
        return original(self, args, namespace)

    argparse.ArgumentParser.parse_args = parse_args  # type: ignore[method-assign]


def _extend(parser: argparse.ArgumentParser) -> None:
    try:
        add_options(parser)
    except WildsTargetedError:
        raise
    except Exception as error:
        _report_inactive(error)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add every registered option, and let errors tell of plugins that could not be loaded."""
    from wilds_targeted.registry import get_registry

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
