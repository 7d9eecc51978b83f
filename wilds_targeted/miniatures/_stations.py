"""Which recording stations there are, which birds each of them hears, and when.

Every random draw comes from a stream named by (seed, what, region, site, …), so that nothing depends on the order of
work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from birdcalls_dataset.releases import RELEASES
from wilds_targeted.miniatures._aviary import REGIONS, SPECIES_PER_REGION, Doubles
from wilds_targeted.miniatures._microphones import Microphone

RECORDING_MINUTES = 2
"""How long a recording is at most."""

# Silence before each bout and how long a bout is, in seconds; and how often a second species or a stranger joins.
_SILENCE, _BOUT = (4.0, 11.0), (4.0, 12.0)
_COMPANY, _STRANGER = 0.06, 0.06
# A phrase starts and ends this far from a recording's ends at least, so that its box lies inside.
_MARGIN = 0.3


class Stream(IntEnum):
    """What a stream of random numbers is for."""

    SITES = 0
    FAVOURITES = 1
    MICROPHONE = 2
    CALENDAR = 3
    SONG = 4
    STRANGER = 5
    ANNOTATOR = 6
    SOUNDSCAPE = 7
    NOISE = 8


def stream(seed: int, what: Stream, *key: int) -> np.random.Generator:
    """The generator of that name."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(what), *key)))


@dataclass(frozen=True)
class Station:
    """One place with a microphone.

    Attributes:
        region: Index into the releases.
        site: Its number among the region's sites, from 1.
        trains: Whether models train on what it hears.
        shares: How its bouts are spread over the region's species.
        microphone: Its microphone.
    """

    region: int
    site: int
    trains: bool
    shares: tuple[float, ...]
    microphone: Microphone

    @property
    def name(self) -> str:
        """As the build calls the microphone."""
        return f"{RELEASES[self.region].prefix}_S{self.site:02d}"


@dataclass(frozen=True)
class Bout:
    """Some seconds in which a species of the region sings, and perhaps another one, each given by its number."""

    number: int
    start: float
    end: float
    species: int
    company: int | None = None
    has_stranger: bool = False


@dataclass(frozen=True)
class Recording:
    """One recording to be made. `number` counts within its station."""

    station: Station
    number: int
    file_name: str
    seconds: int
    bouts: tuple[Bout, ...]


def place_stations(seed: int, training: int, unseen: int) -> list[Station]:
    """The world's stations: in each region so many that train, and so many others.

    The favourites of a region's training stations take turns; the other stations hear all its species alike.
    """
    stations: list[Station] = []
    for region in range(REGIONS):
        sites = (stream(seed, Stream.SITES, region).permutation(training + unseen) + 1).tolist()
        rng = stream(seed, Stream.FAVOURITES, region)
        favourites = np.resize(rng.permutation(SPECIES_PER_REGION), training)
        alike = np.full(SPECIES_PER_REGION, 1 / SPECIES_PER_REGION)
        for k, site in enumerate(sites):
            shares = _shares(int(favourites[k]), favourites, rng) if k < training else alike
            microphone = Microphone.draw(stream(seed, Stream.MICROPHONE, region, site))
            stations.append(Station(region, site, k < training, tuple(shares.tolist()), microphone))
    return stations


def _shares(favourite: int, favourites: npt.NDArray[np.int_], rng: np.random.Generator) -> Doubles:
    """A training station hears its favourite in 70 to 85 of 100 bouts; the rest goes to what fewer stations favour."""
    others = 1 / (1 + np.bincount(favourites, minlength=SPECIES_PER_REGION))
    others[favourite] = 0
    main = rng.uniform(0.70, 0.85)
    shares: Doubles = (1 - main) * others / others.sum()
    shares[favourite] = main
    return shares


def plan_recordings(seed: int, station: Station, minutes: int) -> list[Recording]:
    """What the station will record: some recordings a day apart, with bouts and silences between."""
    rng = stream(seed, Stream.CALENDAR, station.region, station.site)
    lengths = [60 * min(RECORDING_MINUTES, minutes - done) for done in range(0, minutes, RECORDING_MINUTES)]
    times = [list(_bout_times(seconds, rng)) for seconds in lengths]
    species = iter(_cast(sum(map(len, times)), station.shares, rng))
    started = datetime(2019, 1, 1, 5) + timedelta(days=int(rng.integers(120)), seconds=int(rng.integers(7200)))
    recordings, number = [], 0
    for k, (seconds, spans) in enumerate(zip(lengths, times, strict=True)):
        bouts = []
        for start, end in spans:
            bouts.append(_invite(Bout(number, start, end, next(species)), rng))
            number += 1
        started += timedelta(days=1, seconds=int(rng.integers(-600, 600)))
        name = f"{RELEASES[station.region].prefix}_{k + 1:03d}_S{station.site:02d}_{started:%Y%m%d_%H%M%S}Z.flac"
        recordings.append(Recording(station, k, name, seconds, tuple(bouts)))
    return recordings


def _bout_times(seconds: float, rng: np.random.Generator) -> Iterator[tuple[float, float]]:
    """When bouts start and end; a recording has one at least, and may begin within a silence."""
    start = _MARGIN + float(rng.uniform(0, _SILENCE[1]))
    while start + _BOUT[0] < seconds - _MARGIN:
        end = min(start + float(rng.uniform(*_BOUT)), seconds - _MARGIN)
        yield start, end
        start = end + float(rng.uniform(*_SILENCE))


def _cast(bouts: int, shares: tuple[float, ...], rng: np.random.Generator) -> list[int]:
    """The species of each bout: by chance, but where there are bouts enough none is heard in fewer than three."""
    cast = rng.choice(len(shares), bouts, p=shares)
    least = min(3, bouts // len(shares))
    # Again, where what one species was given has made another one rare; every exchange makes them more alike.
    while np.bincount(cast, minlength=len(shares)).min() < least:
        for species in range(len(shares)):
            counts = np.bincount(cast, minlength=len(shares))
            lacking = least - int(counts[species])
            if lacking > 0:
                cast[rng.choice(np.flatnonzero(cast == counts.argmax()), lacking, replace=False)] = species
    return [int(species) for species in cast]


def _invite(bout: Bout, rng: np.random.Generator) -> Bout:
    """Now and then another species joins, or a bird that nobody can name."""
    other = int(rng.choice([species for species in range(SPECIES_PER_REGION) if species != bout.species]))
    joins, strange = (rng.uniform(size=2) < (_COMPANY, _STRANGER)).tolist()
    return replace(bout, company=other if joins else None, has_stranger=strange)
