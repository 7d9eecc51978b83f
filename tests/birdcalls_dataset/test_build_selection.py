"""Which microphones, species and chunks stay, and the splits they go to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from birdcalls_dataset.build import Rules
from birdcalls_dataset.build.annotations import Call
from birdcalls_dataset.build.chunks import Chunk, cut
from birdcalls_dataset.build.recordings import Recording
from birdcalls_dataset.build.selection import draw, select, water_level
from birdcalls_dataset.build.splitting import assign, runs
from birdcalls_dataset.facts import PUBLISHED
from wilds_targeted.errors import DataError, ParameterError, WildsTargetedError

FRAMES = 160_000


def chunks(microphone: str, region: str, classes: Mapping[str, int]) -> list[Chunk]:
    """So many chunks of each class from one microphone, none of them neighbours."""
    species = [name for name, number in classes.items() for _ in range(number)]
    recording = Recording(Path(f"{microphone}_1.flac"), 2 * len(species) * FRAMES, 32_000, microphone, region)
    return [Chunk(recording, 2 * place * FRAMES, FRAMES, name, None) for place, name in enumerate(species)]


def world() -> list[Chunk]:
    """Two regions; a's microphones have most."""
    return [
        *chunks("a1", "a", {"apapan": 90, "omao": 9, "empty": 40}),
        *chunks("a2", "a", {"apapan": 80, "omao": 9, "empty": 40}),
        *chunks("a3", "a", {"apapan": 70, "rare": 4, "empty": 40}),
        *chunks("b1", "b", {"amerob": 20, "empty": 40}),
        *chunks("b2", "b", {"amerob": 10, "empty": 40}),
        *chunks("quiet", "b", {"empty": 500}),
    ]


def classes(members: tuple[Chunk, ...]) -> dict[str, int]:
    return dict(sorted(Counter(chunk.species for chunk in members).items()))


def test_microphones_are_taken_from_regions_in_turn() -> None:
    found = select(world(), Rules(microphones=3, test_microphones=0))
    assert found.train_microphones == ("a1", "a2", "b1")
    found = select(world(), Rules(test_microphones=0))
    assert found.train_microphones == ("a1", "a2", "a3", "b1", "b2")  # nothing calls at the other one


def test_each_region_keeps_a_training_microphone() -> None:
    for seed in range(5):
        found = select(world(), Rules(test_microphones=3, seed=seed))
        assert Counter(name[0] for name in found.test_microphones) == {"a": 2, "b": 1}
        assert not set(found.test_microphones) & set(found.train_microphones)
    with pytest.raises(DataError, match="4 microphones are to be held out, but 3 can be"):
        select(world(), Rules(test_microphones=4))


def test_the_seed_decides_who_is_held_out() -> None:
    assert len({select(world(), Rules(test_microphones=1, seed=seed)).test_microphones for seed in range(20)}) == 3


def test_what_is_random_is_the_same_everywhere() -> None:
    assert draw(0, "chunk", "a_00005").startswith("27a1e66ff81c07b9")
    assert draw(0, "chunk", "a_00005") != draw(1, "chunk", "a_00005")


def test_named_microphones_are_held_out() -> None:
    found = select(world(), Rules(test_microphones=("b2", "a3"), microphones=3))
    assert (found.test_microphones, found.train_microphones) == (("a3", "b2"), ("a1",))
    with pytest.raises(ParameterError, match="no call at 'b3'; microphones with calls: a1, a2, a3, b1, b2"):
        select(world(), Rules(test_microphones=("b3",)))


def test_one_microphone_must_be_left_to_train_at() -> None:
    named = ("a1", "a2", "a3", "b1", "b2")
    with pytest.raises(ParameterError, match=r"left to train at: --test-microphones holds out a1, a2, a3, b1, b2"):
        select(world(), Rules(test_microphones=named))
    with pytest.raises(ParameterError, match=r"left to train at: .* holds out a1, .* and --microphones is 1"):
        select(world(), Rules(test_microphones=("a1",), microphones=1))


def test_one_name_for_microphones_of_two_regions_is_refused() -> None:
    with pytest.raises(DataError, match="microphone x would be in two regions, a and b"):
        select([*chunks("x", "a", {"omao": 9}), *chunks("x", "b", {"omao": 9})], Rules())


def test_rare_species_are_dropped_and_do_not_become_empty() -> None:
    found = select(world(), Rules(test_microphones=0))
    assert found.dropped == ("rare",)
    assert classes(found.chunks) == {"amerob": 30, "apapan": 240, "empty": 200, "omao": 18}
    # Only what there is at the training microphones counts.
    found = select(world(), Rules(test_microphones=("a1", "b1"), min_per_class=10))
    assert found.dropped == ("omao", "rare")
    assert "amerob" in classes(found.chunks)


def test_the_most_frequent_species_stay() -> None:
    found = select(world(), Rules(test_microphones=0, species=2))
    assert found.dropped == ("omao", "rare")


def test_majority_classes_are_undersampled() -> None:
    found = select(world(), Rules(test_microphones=0, clips=118))
    assert found.bounds == (35, 0)
    assert classes(found.chunks) == {"amerob": 30, "apapan": 35, "empty": 35, "omao": 18}
    found = select(world(), Rules(test_microphones=0, max_per_class=20))
    assert classes(found.chunks) == {"amerob": 20, "apapan": 20, "empty": 20, "omao": 18}
    with pytest.raises(ParameterError, match="leave 3 clips for 4 classes"):
        select(world(), Rules(test_microphones=0, clips=3))


def test_both_kinds_of_microphones_are_undersampled_by_themselves() -> None:
    here = [*chunks("a1", "a", {"omao": 5, "apapan": 50}), *chunks("a2", "a", {"omao": 5000})]
    found = select(here, Rules(test_microphones=("a2",), clips=50, test_share=0.4))
    assert found.bounds == (25, 20)
    assert Counter((chunk.recording.microphone, chunk.species) for chunk in found.chunks) == {
        ("a1", "omao"): 5,
        ("a1", "apapan"): 25,
        ("a2", "omao"): 20,
    }


@pytest.mark.parametrize("sizes", [[7], [1, 1, 1], [2, 5, 100], [10, 10, 10, 3]])
def test_the_bound_is_the_largest(sizes: list[int]) -> None:
    for clips in range(len(sizes), sum(sizes) + 3):
        level = water_level(sizes, clips)
        assert sum(min(size, level) for size in sizes) <= clips
        assert level == max(sizes) or sum(min(size, level + 1) for size in sizes) > clips


def test_splits_have_about_the_papers_counts() -> None:
    """With as many chunks as one may wish, the counts are about the paper's."""
    many = [
        chunk
        for place in range(12)
        for chunk in chunks(f"m{place}", "ab"[place % 2], {f"bird{n}": 40 for n in range(31)} | {"empty": 100})
    ]
    rules = Rules()
    found = select(many, rules)
    assert (len(found.train_microphones), len(found.test_microphones)) == (9, 3)
    split_of = assign(found, rules)
    counts = Counter(split_of.values())
    assert sum(counts.values()) > 4897 - 2 * 32
    for split, published in PUBLISHED.items():
        assert counts[split] == pytest.approx(published, abs=0.03 * published + 5)
    in_train = Counter(chunk.species for chunk, split in split_of.items() if split == "train")
    everywhere = Counter(
        chunk.species for chunk in found.chunks if chunk.recording.microphone in found.train_microphones
    )
    for name, number in everywhere.items():
        assert in_train[name] / number == pytest.approx(2089 / 4173, abs=0.05)


def test_train_sees_every_class_and_microphone() -> None:
    """Single clips of rare species, all in the company of frequent ones."""
    recording = Recording(Path("a1_1.flac"), 100 * FRAMES, 32_000, "a1", "a")
    names = ["apapan"] * 8 + [""] + ["apapan", "omao"] + [""] + ["amerob"] + [""] + ["hawama", "apapan", "apapan"]
    here = [Chunk(recording, place * FRAMES, FRAMES, name, None) for place, name in enumerate(names) if name]
    rules = Rules(min_per_class=1, test_microphones=0, train_shares=(1, 3, 3))
    split_of = assign(select(here, rules), rules)
    assert {chunk.species for chunk, split in split_of.items() if split == "train"} == set(names) - {""}


def test_short_calls_can_be_left_out() -> None:
    recording = Recording(Path("a1_1.flac"), 3 * FRAMES, 32_000, "a1", "a")
    # Half a second and, overlapping, three quarters more; then a tenth of a second.
    calls = [
        Call(2, "a1_1.flac", 1.0, 1.5, 0, 900, "omao"),
        Call(3, "a1_1.flac", 1.25, 2.25, 0, 900, "omao"),
        Call(4, "a1_1.flac", 6.0, 6.1, 0, 900, "omao"),
    ]
    found = {
        seconds: [
            (chunk.start // FRAMES, chunk.species) for chunk in cut(recording, calls, Rules(min_call_seconds=seconds))
        ]
        for seconds in (0, 0.5, 1.25, 1.26)
    }
    assert found == {
        0: [(0, "omao"), (1, "omao"), (2, "empty")],
        0.5: [(0, "omao"), (2, "empty")],
        1.25: [(0, "omao"), (2, "empty")],
        1.26: [(2, "empty")],
    }


@pytest.mark.parametrize(
    "rule",
    [
        {"chunk_seconds": 0},
        {"chunk_seconds": 1.0001},
        {"chunk_seconds": 0.001, "sample_rate": 100},
        {"sample_rate": 0},
        {"sample_rate": 1_000_000},
        {"sample_rate": 96_001},
        {"min_call_seconds": -1},
        {"separation_seconds": float("nan")},
        {"unannotated": "maybe"},
        {"microphone_pattern": "("},
        {"microphone_pattern": "UHH"},
        {"test_microphones": -1},
        {"test_microphones": "UHH_S01"},
        {"clips": 0},
        {"max_per_class": 0},
        {"test_share": 1.0},
        {"train_shares": (0, 1, 1)},
        {"test_shares": (0, 0, 0)},
        {"test_shares": (1, -1, 1)},
    ],
    ids=str,
)
def test_rules_out_of_their_range(rule: dict[str, object]) -> None:
    with pytest.raises(WildsTargetedError, match=next(iter(rule))):
        Rules(**rule)


def test_chunks_of_other_lengths() -> None:
    for seconds, name in ((3, "a1_1_00003"), (1.1, "a1_1_00001.100"), (2.5, "a1_1_00002.500")):
        rules = Rules(chunk_seconds=seconds)
        recording = Recording(Path("a1_1.flac"), 10 * 32_000, 32_000, "a1", "a")
        found = cut(recording, [], rules)
        assert len(found) == 10 // seconds
        assert (found[1].name, found[1].frames) == (name, round(seconds * 32_000))


@pytest.mark.parametrize("seconds", [5.0, 2.4, 4.8, 1.1, 0.3])
def test_a_call_that_fills_a_chunk_is_in_no_other(seconds: float) -> None:
    rules = Rules(chunk_seconds=seconds)
    recording = Recording(Path("a1_1.flac"), 40 * rules.chunk_frames, 32_000, "a1", "a")
    for place in range(40):
        call = Call(2, "a1_1.flac", round(place * seconds, 6), round((place + 1) * seconds, 6), 0, 900, "omao")
        found = cut(recording, [call], rules)
        assert [chunk.species for chunk in found].index("omao") == place
        assert Counter(chunk.species for chunk in found) == {"omao": 1, "empty": 39}
        box = found[place].box
        assert box is not None
        assert (box.start, box.end) == pytest.approx((0, seconds), abs=1e-9)


@pytest.mark.parametrize(("end", "expected"), [(5.00001, "empty"), (5.00004, "omao"), (5.1, "omao")])
def test_less_than_a_sample_does_not_count(end: float, expected: str) -> None:
    recording = Recording(Path("a1_1.flac"), 2 * FRAMES, 32_000, "a1", "a")
    found = cut(recording, [Call(2, "a1_1.flac", 4.0, end, 0, 900, "omao")], Rules())
    assert [chunk.species for chunk in found] == ["omao", expected]


@pytest.mark.parametrize("seconds", [0.3, 1.1, 2.4, 5.0, 10.0])
def test_neighbours_stay_together_whatever_their_length(seconds: float) -> None:
    rules = Rules(chunk_seconds=seconds)
    assert rules.separation_seconds == seconds
    frames = rules.chunk_frames
    recording = Recording(Path("a1_1.flac"), 999 * frames, 32_000, "a1", "a")
    # Pairs of neighbours, with a gap of one chunk between.
    here = [Chunk(recording, place * frames, frames, "omao", None) for place in range(90) if place % 3]
    assert [len(group) for group in runs(here, rules.separation_frames)] == [2] * 30
