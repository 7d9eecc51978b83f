"""The calls of one recording, made to fit it: within its duration and its frequencies, none of them twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path

from birdcalls_dataset.build.annotations import Call
from birdcalls_dataset.build.problems import Kind, Problems
from birdcalls_dataset.build.recordings import Recording


def fitting_calls(calls: Sequence[Call], recording: Recording, table: Path, problems: Problems) -> list[Call]:
    """The calls as far as they are in the recording, repetitions left out.

    Args:
        calls: Those of the recording, in the table's order.
        recording: The recording.
        table: Where the calls are from, for the reports.
        problems: Hears of calls that do not fit, and of calls that overlap: those are used all the same, the rules for
            chunks see to them.
    """
    timed = [fitted for call in calls if (fitted := _in_time(call, recording, table, problems)) is not None]
    whole = [_in_frequency(call, recording, table, problems) for call in timed]
    repeated = set()
    for later, earlier in _overlaps(whole):
        if dataclasses.replace(later, row=earlier.row) == earlier:
            repeated.add(later.row)
            text = f"repeats row {earlier.row}; counted once"
        else:
            text = f"overlaps with row {earlier.row}"
        problems.add(Kind.OVERLAP, table, f"{text} ({later.file})", row=later.row)
    return [call for call in whole if call.row not in repeated]


def _in_time(call: Call, recording: Recording, table: Path, problems: Problems) -> Call | None:
    told = f"from {call.start:g} s to {call.end:g} s in {call.file}"
    if call.start >= call.end or call.end <= 0:
        problems.add(Kind.BAD_TIMES, table, f"{told}; ignored", row=call.row)
        return None
    if call.start >= recording.seconds:
        text = f"{told}, which ends at {recording.seconds:g} s; ignored"
        problems.add(Kind.PAST_END, table, text, row=call.row)
        return None
    if call.start < 0:
        problems.add(Kind.BAD_TIMES, table, f"{told}; taken from its start", row=call.row)
    if call.end > recording.seconds:
        text = f"{told}, which ends at {recording.seconds:g} s; clipped"
        problems.add(Kind.PAST_END, table, text, row=call.row)
    return dataclasses.replace(call, start=max(call.start, 0.0), end=min(call.end, recording.seconds))


def _in_frequency(call: Call, recording: Recording, table: Path, problems: Problems) -> Call:
    """The call with a band that the recording can hold; one without keeps its chunk from being empty, no more."""
    if call.low is None or call.high is None:
        return dataclasses.replace(call, low=None, high=None, species=None)
    low, high = max(call.low, 0.0), min(call.high, recording.sample_rate / 2)
    if low < high:
        return dataclasses.replace(call, low=low, high=high)
    text = f"from {call.low:g} Hz to {call.high:g} Hz in {call.file}; chunks with this call are left out"
    problems.add(Kind.BAD_FREQUENCIES, table, text, row=call.row)
    return dataclasses.replace(call, low=None, high=None, species=None)


def _overlaps(calls: Iterable[Call]) -> list[tuple[Call, Call]]:
    """Each call whose box meets one of an earlier row, with the first such; in order of rows.

    A sweep along the time: a call is compared with those alone that still sound when it begins.
    """
    first: dict[int, tuple[Call, Call]] = {}
    sounding: list[Call] = []
    for call in sorted(calls, key=lambda call: (call.start, call.row)):
        sounding = [other for other in sounding if other.end > call.start]
        for other in sounding:
            if _bands_meet(call, other):
                earlier, later = (call, other) if call.row < other.row else (other, call)
                if later.row not in first or earlier.row < first[later.row][1].row:
                    first[later.row] = (later, earlier)
        sounding.append(call)
    return [first[row] for row in sorted(first)]


def _bands_meet(one: Call, other: Call) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low < other.high and other.low < one.high
