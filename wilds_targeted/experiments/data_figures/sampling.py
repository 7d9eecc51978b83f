"""Which domains and which examples a figure shows, and the pictures themselves, read one by one.

Every cell (a domain's examples of one class) has a random stream of its own: what is drawn from it depends on the seed
alone, not on what else is drawn. The first examples of a stream are those of the sample grid.
"""

from __future__ import annotations

import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from wilds_targeted.api import get_subset
from wilds_targeted.errors import DataError, UnknownNameError, closest
from wilds_targeted.experiments.data_figures.view import Numbers, View
from wilds_targeted.runner.reading import Reader, ReadingSubset, name_of

_LISTED = 12
"""How many names an error lists."""


def choose_domains(view: View, wanted: int | Sequence[str], seed: int, rows: Numbers | None = None) -> list[int]:
    """The domains that a figure shows.

    Args:
        view: The split.
        wanted: Names; or how many, drawn at random, from every region in turn where there are regions.
        seed: Of the draw.
        rows: Only domains that have examples among these positions are drawn; all by default.

    Returns:
        Names in the order given; a draw in the order of regions and domains.

    Raises:
        UnknownNameError: The split has no domain of that name.
    """
    if not isinstance(wanted, int):
        return list(dict.fromkeys(_find_domain(view, name) for name in wanted))
    rng = np.random.default_rng([seed, zlib.crc32(view.field.encode())])
    present = np.unique(view.domains if rows is None or len(rows) == 0 else view.domains[rows])
    regions = view.regions or ("",) * len(view.domain_names)
    queues: dict[str, list[int]] = defaultdict(list)
    for domain in rng.permutation(present).tolist():
        queues[regions[domain]].append(domain)
    chosen: list[int] = []
    while len(chosen) < min(wanted, len(present)):
        chosen += [queue.pop() for _, queue in sorted(queues.items()) if queue]
    return sorted(chosen[:wanted], key=lambda domain: (regions[domain], domain))


def _find_domain(view: View, name: str) -> int:
    names = view.domain_names
    for spelling in (name, f"{view.field} {name}"):
        if spelling in names:
            return names.index(spelling)
    listed = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    raise UnknownNameError(
        f"--domains: there is no {view.field} {name!r} in the split {view.split!r} of "
        f"{view.dataset.dataset_name}{closest(name, names) or closest(f'{view.field} {name}', names)}. "
        f"There are {len(names)}: {listed}."
    )


def shuffled(view: View, members: Numbers, seed: int, domain: int, label: int | None = None) -> Numbers:
    """Those positions of a view that are in a domain (and of a class), in random order.

    Args:
        view: The split.
        members: Positions to take from, in ascending order.
        seed: Of the order.
        domain: Which domain.
        label: Which class; None for all.
    """
    mine = members[view.domains[members] == domain]
    if label is not None:
        mine = mine[view.labels[mine] == label]
    key = [seed, zlib.crc32(view.domain_names[domain].encode()), 0 if label is None else 1 + label]
    return np.random.default_rng(key).permutation(mine)


class Pictures:
    """Reads the pictures of a split, one by one.

    A truncated picture counts as far as it goes, as in training.

    Args:
        view: The split.
        skip: Leave out pictures that can't be read, and remember them; else the first one is an error.
    """

    def __init__(self, view: View, *, skip: bool = False) -> None:
        self.view = view
        self.skip = skip
        self.left_out: dict[int, str] = {}
        self._reader = Reader(view.dataset)
        self._subset = ReadingSubset(get_subset(view.dataset, view.split), self._reader)

    def read(self, position: int) -> Image.Image | None:
        """The picture at a position of the view; None for one that is left out.

        Raises:
            DataError: It can't be read; or the data set's inputs are no pictures.
        """
        row = int(self.view.rows[position])
        if row in self.left_out:
            return None
        try:
            x, _, _ = self._subset[position]
        except DataError as error:
            if not self.skip:
                raise
            self.left_out[row] = str(error.__cause__)  # without the hint to skip
            return None
        if not isinstance(x, Image.Image):
            raise DataError(
                f"samples and colours are of pictures, and {self.view.dataset.dataset_name} has inputs of another kind "
                f"({type(x).__name__}). `--figures labels` needs none."
            )
        return x.convert("RGB")

    def first(self, order: Numbers, count: int) -> Iterator[tuple[int, Image.Image]]:
        """The first so many pictures in that order that can be read, with their positions."""
        found = 0
        for position in order.tolist():
            if found == count:
                return
            picture = self.read(position)
            if picture is not None:
                found += 1
                yield position, picture

    def file(self, position: int) -> str:
        """The file at a position, as far as the data set tells."""
        return name_of(self.view.dataset, int(self.view.rows[position]))

    def report(self, folder: Path) -> None:
        """Say on standard error what was truncated, and what was left out."""
        self._reader.report(folder)
        for reason in self.left_out.values():
            print(f"wilds-targeted: warning: left out: {reason}", file=sys.stderr)
