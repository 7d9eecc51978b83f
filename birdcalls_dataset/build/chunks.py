"""Chunks of a recording in which exactly one species calls, or none."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from birdcalls_dataset.build.annotations import Call
from birdcalls_dataset.build.recordings import Recording
from birdcalls_dataset.build.rules import Rules
from birdcalls_dataset.table import EMPTY


@dataclass(frozen=True, slots=True)
class Box:
    """Where a call is in a clip: seconds from the clip's start, and hertz."""

    start: float
    end: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A part of a recording that may become a clip.

    Attributes:
        recording: The recording.
        start: Where it begins in the recording, in samples.
        frames: How many samples it has.
        species: Who calls, or 'empty'.
        box: Around all the calls; None in an empty chunk.
    """

    recording: Recording
    start: int
    frames: int
    species: str
    box: Box | None

    @property
    def start_s(self) -> float:
        """Where it begins in the recording, in seconds."""
        return self.start / self.recording.sample_rate

    @property
    def name(self) -> str:
        """The recording's name and the chunk's start in seconds, with milliseconds where chunks need them."""
        is_whole = self.frames % self.recording.sample_rate == 0
        start = f"{self.start_s:05.0f}" if is_whole else f"{self.start_s:09.3f}"
        return f"{self.recording.path.stem}_{start}"


def cut(recording: Recording, calls: Iterable[Call], rules: Rules) -> list[Chunk]:
    """The recording's chunks with one species or none, in order.

    A species is in a chunk if one of its calls is, for a whole sample at least. What is left out: chunks with two
    species or with a call of an unknown one, chunks whose calls are shorter than the rules want, and a shorter rest at
    the end.
    """
    sounding: defaultdict[int, list[Call]] = defaultdict(list)
    for call in calls:
        first, end = _whole_samples(call, rules.sample_rate)
        if first < end:
            for index in range(first // rules.chunk_frames, -(-end // rules.chunk_frames)):
                sounding[index].append(call)
    seconds = rules.chunk_frames / rules.sample_rate
    chunks = []
    for index in range(recording.frames // rules.chunk_frames):
        here = sounding.get(index, [])
        species = {call.species for call in here} or {EMPTY}
        only = species.pop()
        if species or only is None:
            continue
        box = None
        if here:
            spans = _spans(here, index * rules.chunk_frames / rules.sample_rate, seconds)
            if _sounding_seconds(spans) < rules.min_call_seconds:
                continue
            box = _around(here, spans)
        chunks.append(Chunk(recording, index * rules.chunk_frames, rules.chunk_frames, only, box))
    return chunks


def _whole_samples(call: Call, sample_rate: int) -> tuple[int, int]:
    """The first sample that is within the call, and the one after the last.

    Times in decimals are a hair beside the sample that they mean: a thousandth of a sample is forgiven.

    >>> _whole_samples(Call(2, "", 7.2, 9.6, None, None, None), 32_000)
    (230400, 307200)
    """
    return math.ceil(call.start * sample_rate - 1e-3), math.floor(call.end * sample_rate + 1e-3)


def _spans(calls: Sequence[Call], start: float, seconds: float) -> list[tuple[float, float]]:
    """When the calls sound, in seconds from the chunk's start and within it."""
    return [(max(call.start - start, 0.0), min(call.end - start, seconds)) for call in calls]


def _sounding_seconds(spans: Iterable[tuple[float, float]]) -> float:
    """For how long at least one of them sounds."""
    total, reached = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total


def _around(calls: Sequence[Call], spans: Sequence[tuple[float, float]]) -> Box:
    return Box(
        start=min(start for start, _ in spans),
        end=max(end for _, end in spans),
        low=min(call.low for call in calls if call.low is not None),
        high=max(call.high for call in calls if call.high is not None),
    )
