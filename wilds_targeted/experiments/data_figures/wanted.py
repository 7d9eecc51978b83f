"""What is to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wilds_targeted.errors import ParameterError, closest

FIGURES = ("samples", "colours", "labels")
FORMATS = ("png", "svg")

MOST_DOMAINS = 40
"""Wider figures can't be read, nor drawn."""


@dataclass(frozen=True)
class Wanted:
    """What is to be drawn.

    Args:
        split: Of samples, colours and labels by domain.
        groupby: The metadata fields that make a domain; the data set's own by default.
        domains: How many domains samples and colours show, or which.
        examples: How many examples of each domain the grid shows.
        pictures: How many pictures of each domain and class the histograms are made of, at most.
        seed: Chooses domains and examples; not negative.
        figures: Some of `FIGURES`.
        formats: Some of `FORMATS`.
        skip_bad: Leave out pictures that can't be read; else the first one is an error.
        progress: True for a bar, False for nothing, None for a bar on a terminal and lines elsewhere.

    Raises:
        ParameterError: A value is none of these.
    """

    split: str = "train"
    groupby: Sequence[str] = ()
    domains: int | Sequence[str] = 6
    examples: int = 5
    pictures: int = 200
    seed: int = 0
    figures: Sequence[str] = FIGURES
    formats: Sequence[str] = FORMATS
    skip_bad: bool = False
    progress: bool | None = None

    def __post_init__(self) -> None:
        for option, given, known in (("figures", self.figures, FIGURES), ("format", self.formats, FORMATS)):
            for word in given:
                if word not in known:
                    raise ParameterError(
                        f"--{option} {word}: {', '.join(known)} are expected, with commas between{closest(word, known)}"
                    )
            if not given:
                raise ParameterError(f"--{option}: at least one of {', '.join(known)} is expected")
        count = self.domains if isinstance(self.domains, int) else len(self.domains)
        if not 1 <= count <= MOST_DOMAINS:
            raise ParameterError(
                f"--domains: {count} were asked for; a number from 1 to {MOST_DOMAINS}, or that many names with commas "
                f"between, is expected. Labels are drawn of all domains anyway."
            )
        for option, number, least in (
            ("examples", self.examples, 1),
            ("pictures", self.pictures, 1),
            ("seed", self.seed, 0),
        ):
            if number < least:
                raise ParameterError(f"--{option} {number}: at least {least} is expected")
