"""The rules of a build, each with its default; the command line has an option of the same name for each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from birdcalls_dataset.releases import MICROPHONE_PATTERN
from wilds_targeted.errors import ParameterError

UNANNOTATED = ("skip", "empty")
HIGHEST_RATE = 655_350
"""FLAC has no place for a higher one; above 65,535 it counts in tens."""


def _rule(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What is decided on the way from recordings to clips; the defaults aim at the paper's counts (appendix A.3).

    Every field tells its meaning in its metadata (``help``), which the command line shows. A `separation_seconds` of
    None becomes `chunk_seconds`.

    Raises:
        ParameterError: A value is out of its range.
    """

    chunk_seconds: float = _rule(5.0, "Length of a clip. Recordings are cut into such chunks from their start.")
    sample_rate: int = _rule(32_000, "Hertz. Recordings of another rate are reported and left out.")
    min_call_seconds: float = _rule(0.0, "Leave out a chunk whose calls sound for less than this.")
    unannotated: str = _rule("skip", "Recordings without an annotation: leave out, or take as empty.")
    microphone_pattern: str = _rule(
        MICROPHONE_PATTERN, "Regular expression for the beginning of file names; its groups name the microphone."
    )
    microphones: int = _rule(12, "At most so many: those with most chunks that have a call, regions in turn.")
    test_microphones: int | tuple[str, ...] = _rule(
        3, "Which to hold out: how many, or their names with commas between."
    )
    species: int = _rule(31, "At most so many: the most frequent ones at the training microphones.")
    min_per_class: int = _rule(5, "Drop a species with fewer chunks than this at the training microphones.")
    clips: int = _rule(4897, "Undersample majority classes until there are at most so many clips.")
    test_share: float = _rule(0.148, "Share of --clips that is for the held-out microphones.")
    max_per_class: int | None = _rule(
        None, "Undersample to so many clips of a class, at training and at held-out microphones each; not to --clips."
    )
    separation_seconds: float | None = _rule(
        None,
        "Clips of a recording that start no further apart than this are in the same split; by default the length of a "
        "clip, that is, neighbours.",
    )
    train_shares: tuple[float, float, float] = _rule(
        (2089, 407, 1677), "Shares of train, id_val, id_test at the training microphones."
    )
    test_shares: tuple[float, float, float] = _rule(
        (365, 69, 290), "Shares of ood_train, ood_val, test at the held-out microphones."
    )
    seed: int = _rule(0, "Decides which microphones are held out, which chunks of a majority class stay, and ties.")

    def __post_init__(self) -> None:
        if self.separation_seconds is None:
            object.__setattr__(self, "separation_seconds", self.chunk_seconds)
        for name in ("sample_rate", "microphones", "species", "min_per_class", "clips", "max_per_class"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(f"{name} is {value}; it must be 1 or more.")
        for name in ("min_call_seconds", "separation_seconds"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"{name} is {getattr(self, name)}; it must be 0 or more.")
        if not 0 < self.test_share < 1:
            raise ParameterError(f"test_share is {self.test_share}; it must be between 0 and 1.")
        held_out = self.test_microphones
        if not isinstance(held_out, tuple) and not (isinstance(held_out, int) and held_out >= 0):
            raise ParameterError(f"test_microphones is {held_out!r}; it must be 0 or more, or a tuple of names.")
        if self.unannotated not in UNANNOTATED:
            raise ParameterError(f"unannotated is {self.unannotated!r}; it must be one of {', '.join(UNANNOTATED)}.")
        self._check_chunk()
        self._check_shares()
        self._check_pattern()

    def _check_chunk(self) -> None:
        if self.sample_rate > HIGHEST_RATE or (self.sample_rate > 65_535 and self.sample_rate % 10):
            raise ParameterError(
                f"sample_rate is {self.sample_rate}; clips are FLAC, which takes rates up to {HIGHEST_RATE}, and of "
                "those above 65535 multiples of 10."
            )
        if not 0 < self.chunk_seconds < float("inf"):
            raise ParameterError(f"chunk_seconds is {self.chunk_seconds}; it must be more than 0.")
        for unit, per_second in (("milliseconds", 1000), ("samples", self.sample_rate)):
            count = self.chunk_seconds * per_second
            if abs(count - round(count)) > 1e-6:
                raise ParameterError(
                    f"chunk_seconds is {self.chunk_seconds}; at a sample_rate of {self.sample_rate} a chunk must have "
                    f"a whole number of {unit}."
                )

    def _check_shares(self) -> None:
        for name in ("train_shares", "test_shares"):
            shares = getattr(self, name)
            if len(shares) != 3 or not all(0 <= share < float("inf") for share in shares) or not sum(shares):
                raise ParameterError(f"{name} is {shares}; it must be three numbers from 0 on, not all of them 0.")
        if not self.train_shares[0]:
            raise ParameterError(f"train_shares is {self.train_shares}; the first one, train, must be more than 0.")

    def _check_pattern(self) -> None:
        try:
            groups = re.compile(self.microphone_pattern).groups
        except re.error as error:
            raise ParameterError(
                f"microphone_pattern {self.microphone_pattern!r} is not a regular expression: {error}."
            ) from error
        if not groups:
            raise ParameterError(
                f"microphone_pattern {self.microphone_pattern!r} has no group: put what names the microphone in (…)."
            )

    @property
    def test_clips(self) -> int:
        """How many of the clips are for the held-out microphones."""
        return int(self.clips * self.test_share)

    @property
    def separation_frames(self) -> float:
        """How many samples apart clips may start and still be in one split."""
        # Half a sample for what arithmetic leaves behind; None was replaced above.
        return (self.separation_seconds or 0) * self.sample_rate + 0.5

    @property
    def chunk_frames(self) -> int:
        """How many samples a chunk has."""
        return round(self.chunk_seconds * self.sample_rate)
