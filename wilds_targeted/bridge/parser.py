"""Add the registered options to the parser that `run_expt.py` makes."""

from __future__ import annotations

import argparse
from typing import Any

from wilds_targeted import _report_inactive
from wilds_targeted.errors import WildsTargetedError

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
        from wilds_targeted.options import add_options

        add_options(parser)
    except WildsTargetedError:
        raise
    except Exception as error:
        _report_inactive(error)
