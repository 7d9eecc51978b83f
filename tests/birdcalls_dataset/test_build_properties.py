"""Random annotations: what holds of every build."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from birdcalls_dataset.build import Rules
from birdcalls_dataset.build.annotations import Call
from birdcalls_dataset.build.calls import fitting_calls
from birdcalls_dataset.build.chunks import Chunk, cut
from birdcalls_dataset.build.problems import Problems
from birdcalls_dataset.build.recordings import Recording
from birdcalls_dataset.build.selection import select
from birdcalls_dataset.build.splitting import TEST_SPLITS, TRAIN_SPLITS, assign
from birdcalls_dataset.table import EMPTY
from wilds_targeted.errors import WildsTargetedError

RATE, NYQUIST = 32_000, 16_000
LENGTHS = (5.0, 2.4, 4.8, 1.1, 7.3, 10.0)
SPECIES = ("apapan", "omao", "hawama", None)

# On a grid, on the edges of chunks, and anywhere.
times = (
    st.integers(-8, 300).map(lambda quarters: quarters / 4)
    | st.builds(lambda count, seconds: round(count * seconds, 6), st.integers(0, 30), st.sampled_from(LENGTHS))
    | st.floats(-2, 75)
)
lengths = st.sampled_from(LENGTHS)
frequencies = st.none() | st.sampled_from([-10.0, 0.0, 1000.0, 8000.0, 16000.0, 30000.0]) | st.floats(0, 20_000)
calls = st.builds(Call, st.just(0), st.just(""), times, times, frequencies, frequencies, st.sampled_from(SPECIES))
recordings = st.tuples(
    st.sampled_from(["a1", "a2", "a3", "b1", "b2"]), st.integers(1, 75), st.lists(calls, max_size=14)
)

# Long ones with sound calls, so that there is something to select from.
sound_calls = st.builds(
    lambda start, seconds, species: Call(0, "", start, start + seconds, 1000.0, 8000.0, species),
    st.integers(0, 145),
    st.sampled_from([0.5, 2.0, 6.0]),
    st.sampled_from(SPECIES),
)
long_recordings = st.tuples(
    st.sampled_from(["a1", "a2", "a3", "b1", "b2"]),
    st.integers(60, 150),
    st.lists(sound_calls, min_size=3, max_size=20),
)
rules = st.builds(
    Rules,
    chunk_seconds=lengths,
    min_per_class=st.integers(1, 3),
    microphones=st.integers(3, 5),
    test_microphones=st.integers(0, 2),
    species=st.integers(1, 3),
    clips=st.integers(8, 60),
    test_share=st.sampled_from([0.2, 0.5]),
    max_per_class=st.none() | st.integers(1, 9),
    separation_seconds=st.sampled_from([None, 0.0, 4.9, 5.0, 12.0]),
    train_shares=st.sampled_from([(2089, 407, 1677), (1, 0, 0), (1, 5, 5)]),
    test_shares=st.sampled_from([(365, 69, 290), (0, 0, 1)]),
    seed=st.integers(0, 3),
)

World = list[tuple[Recording, list[Call]]]


def make(drawn: Sequence[tuple[str, int, list[Call]]]) -> World:
    """Recordings, and their calls with numbers of rows."""
    rows = itertools.count(2)
    return [
        (
            Recording(Path(f"{number}_{microphone}.flac"), seconds * 32_000, 32_000, microphone, microphone[0]),
            [Call(next(rows), "", c.start, c.end, c.low, c.high, c.species) for c in members],
        )
        for number, (microphone, seconds, members) in enumerate(drawn)
    ]


def heard(members: Sequence[Call], start: int, end: int) -> list[Call]:
    """The straightforward way: the calls that have a whole one of these samples, by exact arithmetic."""
    return [
        call
        for call in members
        if max(start, math.ceil(Fraction(repr(call.start)) * RATE)) < min(end, Fraction(repr(call.end)) * RATE // 1)
    ]


def species_of(call: Call) -> str | None:
    """None for a call that can't be used."""
    has_band = call.low is not None and call.high is not None and max(call.low, 0) < min(call.high, NYQUIST)
    return call.species if has_band else None


def cut_all(world: World, rules: Rules) -> list[Chunk]:
    quiet = Problems(lambda line: None)
    return [
        chunk
        for recording, members in world
        for chunk in cut(recording, fitting_calls(members, recording, Path("annotations.csv"), quiet), rules)
    ]


@settings(deadline=None)
@given(st.lists(recordings, min_size=1, max_size=3), lengths)
def test_chunks_have_one_species_or_none_and_none_is_lost(
    drawn: list[tuple[str, int, list[Call]]], seconds: float
) -> None:
    world = make(drawn)
    frames = round(seconds * RATE)
    expected = {}
    for recording, members in world:
        for start in range(0, recording.frames - frames + 1, frames):
            species = {species_of(call) for call in heard(members, start, start + frames)} or {EMPTY}
            if len(species) == 1 and None not in species:
                expected[recording.path.name, start] = species.pop()
    chunks = cut_all(world, Rules(chunk_seconds=seconds))
    assert {(chunk.recording.path.name, chunk.start): chunk.species for chunk in chunks} == expected


@settings(deadline=None)
@given(st.lists(recordings, min_size=1, max_size=3), lengths)
def test_boxes_are_in_their_clips_and_around_their_calls(
    drawn: list[tuple[str, int, list[Call]]], seconds: float
) -> None:
    world = make(drawn)
    members_of = dict(world)
    for chunk in cut_all(world, Rules(chunk_seconds=seconds)):
        assert (chunk.box is None) == (chunk.species == EMPTY)
        if chunk.box is None:
            continue
        assert 0 <= chunk.box.start < chunk.box.end <= seconds
        assert chunk.box.end - chunk.box.start > 0.99 / RATE
        assert 0 <= chunk.box.low < chunk.box.high <= NYQUIST
        here = heard(members_of[chunk.recording], chunk.start, chunk.start + chunk.frames)
        assert chunk.box.start == max(min(call.start for call in here) - chunk.start_s, 0)
        assert chunk.box.end == min(max(call.end for call in here) - chunk.start_s, seconds)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(long_recordings, min_size=4, max_size=8), rules, st.randoms())
def test_selection_and_splits(drawn: list[tuple[str, int, list[Call]]], rules: Rules, chance: object) -> None:
    chunks = cut_all(make(drawn), rules)
    try:
        selection = select(chunks, rules)
    except WildsTargetedError:
        event("refused: too few microphones or calls for these rules")
        return
    stay = selection.chunks
    assert set(stay) <= set(chunks)
    assert len(set(stay)) == len(stay)
    for microphones, bound in zip(
        (selection.train_microphones, selection.test_microphones), selection.bounds, strict=True
    ):
        counts = Counter(chunk.species for chunk in stay if chunk.recording.microphone in microphones)
        assert max(counts.values(), default=0) <= bound
    assert rules.max_per_class is not None or len(stay) <= rules.clips
    assert not set(selection.train_microphones) & set(selection.test_microphones)

    split_of = assign(selection, rules)
    assert set(split_of) == set(stay)
    for chunk, split in split_of.items():
        is_held_out = chunk.recording.microphone in selection.test_microphones
        assert split in (TEST_SPLITS if is_held_out else TRAIN_SPLITS)
    for one, other in itertools.combinations(stay, 2):
        if one.recording is other.recording and other.start - one.start <= round(rules.separation_seconds * RATE):
            assert split_of[one] == split_of[other]
    at_training = [chunk for chunk in stay if chunk.recording.microphone in selection.train_microphones]
    in_train = [chunk for chunk in at_training if split_of[chunk] == "train"]
    for trait in (lambda chunk: chunk.species, lambda chunk: chunk.recording.microphone):
        assert set(map(trait, in_train)) == set(map(trait, at_training))

    # Nothing but names and rules decides, and no order.
    again = cut_all(make(drawn), rules)
    chance.shuffle(again)
    assert named(assign(select(again, rules), rules)) == named(split_of)


def named(split_of: dict[Chunk, str]) -> dict[str, str]:
    return {chunk.name: split for chunk, split in split_of.items()}
