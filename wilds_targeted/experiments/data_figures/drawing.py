"""What all figures of a data set share: how they look, what goes with them, and how they are saved."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from wilds_targeted.experiments.data_figures.view import Numbers
from wilds_targeted.experiments.figure import SETTINGS
from wilds_targeted.files import written_whole

LOOKS = {**SETTINGS, "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9, "axes.grid": False}
DPI = 150

OTHER_COLOR = "#8A8A8A"
"""Of what is drawn together, beside Okabe and Ito's colours."""


@dataclass(frozen=True)
class Table:
    """Numbers behind a figure: the columns' names and the lines."""

    header: tuple[str, ...]
    lines: Sequence[tuple[Any, ...]]

    @property
    def csv(self) -> bytes:
        """As the content of a CSV file."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows(self.lines)
        return text.getvalue().encode("utf-8", "replace")  # the name of a folder may be no UTF-8


@dataclass(frozen=True)
class Drawn:
    """A figure, and what goes with it.

    Args:
        name: Its files' name, without ending.
        title: Its heading on the page.
        caption: What it shows and what was sampled.
        description: It in words, for people who do not see it.
        figure: Matplotlib's.
        tables: Its numbers, by the name of their file without ending.
        of_pictures: Whether it consists of pictures, which a page shows as JPEG.
    """

    name: str
    title: str
    caption: str
    description: str
    figure: Figure
    tables: Mapping[str, Table]
    of_pictures: bool = False


def render(figure: Figure, form: str) -> bytes:
    """The figure as a file's content, the same for the same figure.

    Args:
        figure: Drawn under `LOOKS`.
        form: ``"png"``, ``"svg"`` or ``"jpg"``.
    """
    by_form: dict[str, dict[str, Any]] = {
        "svg": {"metadata": {"Date": None, "Creator": None}},
        "png": {"metadata": {"Software": None}},
        "jpg": {"pil_kwargs": {"quality": 88}},
    }
    content = io.BytesIO()
    with mpl.rc_context(LOOKS):
        figure.savefig(content, format=form, dpi=DPI, bbox_inches="tight", pad_inches=0.08, **by_form[form])
    return content.getvalue()


def write_bytes(path: Path, content: bytes) -> None:
    """That file, whole or not at all."""
    with written_whole(path) as arriving:
        arriving.write_bytes(content)


def most_frequent(counts: Numbers, at_most: int) -> list[int]:
    """The classes that are there, the most frequent first: all, or one fewer than so many where there are more.

    The last place is then for all others together. Of equally frequent classes the lower number comes first.

    >>> most_frequent(np.array([2, 0, 5, 2]), 3), most_frequent(np.array([2, 1, 5, 2]), 3)
    ([2, 0, 3], [2, 0])
    """
    order = [int(label) for label in np.argsort(-counts, kind="stable") if counts[label]]
    return order if len(order) <= at_most else order[: at_most - 1]


def shorten(name: str, length: int) -> str:
    """A name that fits.

    >>> shorten("Tragelaphus strepsiceros", 12)
    'Tragelaphus…'
    """
    return name if len(name) <= length else name[: length - 1].rstrip() + "…"


def count_of(number: int, one: str, many: str = "") -> str:
    """A number with its word.

    >>> count_of(1, "class", "classes"), count_of(1200, "picture")
    ('1 class', '1,200 pictures')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
