"""What the library raises; the command line and the bridge turn it into one line.

Each message says what arrived, what was expected, and what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class WildsTargetedError(Exception):
    """The parent of every error that this package raises on purpose."""


class UnknownNameError(WildsTargetedError):
    """A transform, data set, model, algorithm or plugin of that name is not registered."""


class ParameterError(WildsTargetedError):
    """A parameter is unknown, of the wrong type, or out of its range."""


class PluginError(WildsTargetedError):
    """A plugin breaks the rules: a misspelt hook, a name that is taken, something that is not a spec."""


class ConfigError(WildsTargetedError):
    """Options that do not go together."""


class DataError(WildsTargetedError):
    """A data set, an image or a metadata file is missing or broken."""


class AnnotationError(DataError):
    """A mask, a detection file or a coordinate file is missing, broken or does not match the data."""


class DownloadError(DataError):
    """A file could not be fetched, or what arrived is not what was published."""


class CheckoutError(WildsTargetedError):
    """A WILDS checkout was not found, or could not be made.

    Attributes:
        is_absence: Whether there simply is none, where nobody named one.
    """

    is_absence = False


class RunError(WildsTargetedError):
    """A run that can't go on: a loss that is not a number, a full disk, a worker that died."""


def closest(name: str, known: Iterable[str]) -> str:
    """A suggestion to append to a message: `` (did you mean 'x'?)``, or nothing.

    >>> closest("copypaste_samy", ["copypaste_samey", "cutout"])
    " (did you mean 'copypaste_samey'?)"
    >>> closest("zebra", ["cutout"])
    ''
    """
    matches = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def one_line(error: BaseException) -> str:
    """An error's message on one line.

    A loader's worker sends its error home as text, traceback and all; the last line of that is the message.

    >>> one_line(DataError("two\nlines"))
    'two lines'
    """
    text = str(error).strip()
    if text.startswith("Caught ") and "Original Traceback" in text:
        text = text.splitlines()[-1].partition(": ")[2]
    return " ".join(text.split()) or type(error).__name__
