"""Which microphones, species and chunks stay."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from birdcalls_dataset.build.chunks import Chunk
from birdcalls_dataset.build.rules import Rules
from birdcalls_dataset.table import EMPTY
from wilds_targeted.errors import DataError, ParameterError, closest


@dataclass(frozen=True)
class Selection:
    """What stays.

    Attributes:
        chunks: The clips to be, by recording and start.
        train_microphones: Where models train.
        test_microphones: Those held out.
        bounds: How many clips a class has at most, at the training microphones and at the held-out ones.
        dropped: The species that are left out, because they are rare or beyond the number of species.
    """

    chunks: tuple[Chunk, ...]
    train_microphones: tuple[str, ...]
    test_microphones: tuple[str, ...]
    bounds: tuple[int, int]
    dropped: tuple[str, ...]

    def __str__(self) -> str:
        """The choices, for people."""
        lines = [
            f"training microphones: {', '.join(self.train_microphones)}",
            f"held-out microphones: {', '.join(self.test_microphones) or 'none'}",
            f"species left out ({len(self.dropped)}): {', '.join(self.dropped) or 'none'}",
            f"at most {self.bounds[0]} clips of a class at the training microphones, {self.bounds[1]} at the others",
        ]
        return "\n".join(lines)


def draw(seed: int, *names: object) -> str:
    """A number for these names, as text, that depends on nothing else: what is random here is ordered by it."""
    return hashlib.sha256("\0".join(map(str, (seed, *names))).encode()).hexdigest()


def select(chunks: Iterable[Chunk], rules: Rules) -> Selection:
    """Apply the rules of selection.

    Raises:
        DataError: Nothing is left, or there are too few microphones.
        ParameterError: A microphone to be held out is not there, or none is left to train at.
    """
    chunks = list(chunks)
    regions = _regions(chunks)
    kept = _kept_microphones(chunks, regions, rules)
    held_out = _held_out(kept, regions, rules)
    training = frozenset(kept) - frozenset(held_out)
    if not training:
        raise ParameterError(
            f"no microphone is left to train at: --test-microphones holds out {', '.join(sorted(held_out))}, there are "
            f"{', '.join(sorted(regions))}, and --microphones is {rules.microphones}."
        )
    here = [chunk for chunk in chunks if chunk.recording.microphone in kept]
    frequency = {chunk.species: 0 for chunk in here if chunk.species != EMPTY}
    for chunk in here:
        if chunk.species != EMPTY and chunk.recording.microphone in training:
            frequency[chunk.species] += 1
    by_frequency = sorted(frequency, key=lambda name: (-frequency[name], name))
    species = [name for name in by_frequency[: rules.species] if frequency[name] >= rules.min_per_class]
    if not species:
        raise DataError(
            f"no species has {rules.min_per_class} chunks or more at the training microphones "
            f"({', '.join(sorted(training)) or 'none'}): give more recordings, or a smaller --min-per-class."
        )
    # Apart for both kinds of microphones: otherwise a species that is frequent at a held-out one might leave training.
    allowed = {*species, EMPTY}
    train, train_bound = _undersampled(
        [chunk for chunk in here if chunk.species in allowed and chunk.recording.microphone in training],
        rules.clips - rules.test_clips if held_out else rules.clips,
        rules,
    )
    test, test_bound = _undersampled(
        [chunk for chunk in here if chunk.species in allowed and chunk.recording.microphone in held_out],
        rules.test_clips,
        rules,
    )
    return Selection(
        chunks=tuple(sorted([*train, *test], key=lambda chunk: (chunk.recording.path.name, chunk.start))),
        train_microphones=tuple(sorted(training)),
        test_microphones=tuple(sorted(set(held_out))),
        bounds=(train_bound, test_bound),
        dropped=tuple(sorted(set(frequency) - set(species))),
    )


def _regions(chunks: Iterable[Chunk]) -> dict[str, str]:
    """The region of each microphone."""
    regions: dict[str, str] = {}
    for chunk in chunks:
        microphone, region = chunk.recording.microphone, chunk.recording.region
        if regions.setdefault(microphone, region) != region:
            raise DataError(
                f"microphone {microphone} would be in two regions, {regions[microphone]} and {region}: choose a "
                "--microphone-pattern whose groups tell them apart."
            )
    return regions


def _kept_microphones(chunks: Iterable[Chunk], regions: Mapping[str, str], rules: Rules) -> list[str]:
    calls = Counter(chunk.recording.microphone for chunk in chunks if chunk.species != EMPTY)
    if not calls:
        raise DataError("no chunk of any recording has a single species: there is nothing to build from.")
    named = rules.test_microphones if isinstance(rules.test_microphones, tuple) else ()
    for name in named:
        if name not in calls:
            raise ParameterError(
                f"--test-microphones: no call at {name!r}{closest(name, calls)}; microphones with calls: "
                f"{', '.join(sorted(calls))}."
            )
    others = sorted(calls.keys() - set(named), key=lambda name: (-calls[name], name))
    return [*named, *_in_turn(others, regions)][: max(rules.microphones, len(named))]


def _in_turn(names: Iterable[str], regions: Mapping[str, str]) -> list[str]:
    """The first name of each region, then the second ones, and so on; within a region the order stays."""
    seen: Counter[str] = Counter()
    turns = []
    for name in names:
        turns.append((seen[regions[name]], regions[name], name))
        seen[regions[name]] += 1
    return [name for _, _, name in sorted(turns)]


def _held_out(kept: Sequence[str], regions: Mapping[str, str], rules: Rules) -> tuple[str, ...]:
    if isinstance(rules.test_microphones, tuple):
        return rules.test_microphones
    order = sorted(kept, key=lambda name: draw(rules.seed, "microphone", name))
    # The last one of each region stays for training.
    last = {regions[name]: name for name in order}
    free = _in_turn([name for name in order if last[regions[name]] != name], regions)
    if len(free) < rules.test_microphones:
        raise DataError(
            f"{rules.test_microphones} microphones are to be held out, but {len(free)} can be: a region keeps one to "
            f"train at, and there are {', '.join(f'{name} ({regions[name]})' for name in sorted(kept))}. Give more "
            f"recordings, or --test-microphones with {len(free)} or with names."
        )
    return tuple(free[: rules.test_microphones])


def _undersampled(chunks: Iterable[Chunk], clips: int, rules: Rules) -> tuple[list[Chunk], int]:
    """The chunks that stay, and the bound; those of a majority class are ordered by a number of their own."""
    classes: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        classes[chunk.species].append(chunk)
    sizes = [len(members) for members in classes.values()]
    bound = rules.max_per_class or water_level(sizes, clips)
    stay = []
    for members in classes.values():
        if len(members) > bound:
            members = sorted(members, key=lambda chunk: draw(rules.seed, "chunk", chunk.name))[:bound]
        stay += members
    return stay, min(bound, max(sizes, default=0))


def water_level(sizes: Sequence[int], clips: int) -> int:
    """The largest bound at which classes of these sizes, cut to it, have so many clips or fewer in all.

    >>> water_level([2, 5, 100], 17)
    10

    Raises:
        ParameterError: There are more classes than clips.
    """
    if len(sizes) > clips:
        raise ParameterError(
            f"--clips and --test-share leave {clips} clips for {len(sizes)} classes; it must be one of each at least."
        )
    left, ascending = clips, sorted(sizes)
    for position, size in enumerate(ascending):
        level = left // (len(ascending) - position)
        if size > level:
            return level
        left -= size
    return max(sizes, default=0)
