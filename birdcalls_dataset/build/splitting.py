"""Which split each clip is in: neighbours in a recording together, classes and microphones close to their shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from birdcalls_dataset.build.chunks import Chunk
from birdcalls_dataset.build.rules import Rules
from birdcalls_dataset.build.selection import Selection, draw
from birdcalls_dataset.table import SPLITS

TRAIN_SPLITS, TEST_SPLITS = SPLITS[:3], SPLITS[3:]

Group = tuple[Chunk, ...]
"""Clips that go into a split together."""

Trait = tuple[str, str]
"""A class or a microphone, with its kind before it; and the trait that all clips have."""


def assign(selection: Selection, rules: Rules) -> dict[Chunk, str]:
    """The split of each clip."""
    groups = runs(selection.chunks, rules.separation_frames)
    held_out = set(selection.test_microphones)
    result: dict[Chunk, str] = {}
    for splits, shares, is_test in ((TRAIN_SPLITS, rules.train_shares, False), (TEST_SPLITS, rules.test_shares, True)):
        mine = [group for group in groups if (group[0].recording.microphone in held_out) == is_test]
        mine.sort(key=lambda group: (-len(group), draw(rules.seed, "group", group[0].name)))
        chosen = _spread(mine, {split: share for split, share in zip(splits, shares, strict=True) if share})
        if not is_test:
            _let_train_see_everything(mine, chosen)
        result.update({chunk: split for group, split in zip(mine, chosen, strict=True) for chunk in group})
    return result


def runs(chunks: Iterable[Chunk], separation_frames: float) -> list[Group]:
    """The clips, ordered by recording and start, in groups: clips that start no further apart share a group."""
    groups: list[list[Chunk]] = []
    for chunk in chunks:
        last = groups[-1][-1] if groups else None
        if last is not None and last.recording is chunk.recording and chunk.start - last.start <= separation_frames:
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    return [tuple(group) for group in groups]


def _spread(groups: Sequence[Group], shares: Mapping[str, float]) -> list[str]:
    """A split for each group, one after another: the one that lacks most of what the group has.

    Each class, each microphone and the whole have their lack, as a part of their size; so rare classes weigh as much as
    frequent ones.
    """
    counted = [_counted(group) for group in groups]
    sizes: Counter[Trait] = Counter()
    for counts in counted:
        sizes.update(counts)
    every = sum(shares.values())
    lack = {split: {trait: share / every * size for trait, size in sizes.items()} for split, share in shares.items()}
    chosen = []
    for counts in counted:
        gains = {
            split: sum(number * lack[split][trait] / sizes[trait] for trait, number in counts.items())
            for split in shares
        }
        split = max(gains, key=lambda split: round(gains[split], 9))  # the first one, where they differ by rounding
        for trait, number in counts.items():
            lack[split][trait] -= number
        chosen.append(split)
    return chosen


def _counted(group: Group) -> dict[Trait, int]:
    """How many clips of a group have each trait that is to be spread evenly."""
    return {
        ("clips", ""): len(group),
        ("microphone", group[0].recording.microphone): len(group),
        **{("class", name): number for name, number in sorted(Counter(chunk.species for chunk in group).items())},
    }


def _let_train_see_everything(groups: Sequence[Group], chosen: list[str]) -> None:
    """Move to train the smallest group that has a class or a microphone which train lacks, until it lacks none."""
    train = TRAIN_SPLITS[0]
    counted = [_counted(group) for group in groups]
    seen = {trait for counts, split in zip(counted, chosen, strict=True) if split == train for trait in counts}
    for trait in sorted({trait for counts in counted for trait in counts}):
        if trait not in seen:
            smallest = max(
                place for place, counts in enumerate(counted) if trait in counts
            )  # the large ones come first
            chosen[smallest] = train
            seen.update(counted[smallest])
