"""The birds: which species each region has, what their songs are made of, and how one phrase of a song sounds.

A song is a list of notes, and a note is a line of pitches: sweeps up or down, arches, flat whistles, trills of many
short notes. Every phrase is sung a little differently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from birdcalls_dataset.releases import RELEASES

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

SAMPLING_RATE = 32_000
UNKNOWN = "????"
"""What annotators write of a call that they can't name."""

SPECIES_PER_REGION = 4
# Power of the loudest harmonic, in the units of the soundscapes' densities: times one hertz.
_LOUDNESS_DB = 50.0
_FADE_SECONDS = 0.02
# Amplitudes change slowly: it is enough to compute them once in a millisecond.
_STEP = 32


@dataclass(frozen=True)
class Note:
    """One note.

    Attributes:
        pitches: In hertz, evenly spaced from its start to its end, with straight lines (of the logarithm) between.
        seconds: How long it sounds.
        gap: Seconds of silence after it.
    """

    pitches: tuple[float, ...]
    seconds: float
    gap: float


@dataclass(frozen=True)
class Song:
    """What a species sings.

    Attributes:
        name: Of the bird, too.
        genus: Likewise.
        notes: What a phrase consists of.
        repeats: How often the notes are repeated in one phrase, at least and at most.
        harmonics: The amplitudes of the pitch and of its multiples.
        loudness_db: Short notes and quick sweeps must be louder to be seen as well as a whistle.
    """

    name: str
    genus: str
    notes: tuple[Note, ...]
    repeats: tuple[int, int]
    harmonics: tuple[float, ...] = (1, 0.1)
    loudness_db: float = 0


WHISTLER = Song("whistler", "Sibilator", (Note((2200, 3500), 0.40, 0.08), Note((3300, 2100), 0.45, 0.15)), (1, 2))
BUGLER = Song("bugler", "Bucinator", (Note((850, 1050, 900), 0.50, 0.15),), (2, 3), (0.7, 1, 0.8, 0.5, 0.35, 0.2), 3)
CREEPER = Song("creeper", "Reptator", (Note((1900, 4200), 0.28, 0.12),), (3, 5), (1, 0.2), 6)
RATTLER = Song("rattler", "Crepitator", (Note((5300, 4200), 0.06, 0.05),), (10, 16), (1,), 10)
COOER = Song("cooer", "Gemitor", (Note((640, 780, 700), 0.38, 0.22),), (3, 4), (1, 0.25, 0.08), -4)
PIPER = Song("piper", "Tibicen", (Note((1700, 1680), 0.70, 0.06), Note((1350, 1330), 0.60, 0.1)), (1, 1), (1, 0.15), -3)
SCREAMER = Song("screamer", "Clamator", (Note((5200, 4600, 1500), 0.75, 0.2),), (1, 2), (1, 0.25, 0.1), 1)
WARBLER = Song("warbler", "Modulator", (Note((3000, *(4300, 3000) * 8), 1.30, 0.1),), (1, 1), (1, 0.12), 2)
CHIRPER = Song("chirper", "Titiator", (Note((5600, 7400, 5800), 0.20, 0.12),), (4, 6), (1,), 7)
TICKER = Song("ticker", "Pulsator", (Note((3400, 1900), 0.08, 0.15),), (6, 10), (1, 0.45, 0.25), 7)

Response = Callable[[Doubles], Doubles]
"""What becomes of the amplitude at each frequency on its way into a microphone."""


@dataclass(frozen=True)
class Species:
    """One species: its code as eBird would make it of the common name, both names, its region and its song."""

    code: str
    scientific_name: str
    common_name: str
    region: int
    song: Song


def _name_species(region: int, place: str, epithet: str, *songs: Song) -> tuple[Species, ...]:
    return tuple(
        Species(
            f"{place[:3]}{song.name[:3]}1".lower(),
            f"{song.genus} {epithet}",
            f"{place} {song.name.title()}",
            region,
            song,
        )
        for song in songs
    )


# One tuple a release, in their order. A song in several regions makes several species that sound alike, told apart by
# their surroundings alone.
SPECIES = (
    _name_species(0, "Island", "insularis", WHISTLER, BUGLER, CREEPER, RATTLER),
    _name_species(1, "Rainforest", "amazonicus", WHISTLER, COOER, PIPER, SCREAMER),
    _name_species(2, "Woodland", "silvestris", WHISTLER, WARBLER, CHIRPER, TICKER),
)
REGIONS = len(RELEASES)


@dataclass(frozen=True)
class Voice:
    """How a bird sings during one bout.

    Attributes:
        pitch: A factor on all its pitches.
        tempo: A factor on all its durations.
        level_db: How much weaker it arrives than the loudest; the farther away it sits.
        haze_db: What the air and the leaves between take from each kilohertz of pitch.
    """

    pitch: float
    tempo: float
    level_db: float
    haze_db: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Voice:
        """Any bird, of whichever species."""
        pitch, tempo = rng.uniform((0.96, 0.88), (1.04, 1.14)).tolist()
        distance = float(rng.beta(1.5, 1.5))
        return cls(pitch, tempo, -12 * distance, 0.6 * distance)


@dataclass(frozen=True)
class Phrase:
    """One phrase of a song, as it will sound."""

    song: Song
    repeats: int
    pitch: float
    tempo: float
    level_db: float
    haze_db: float

    @classmethod
    def draw(cls, song: Song, voice: Voice, rng: np.random.Generator) -> Phrase:
        """A phrase in that voice; no two are quite the same."""
        fewest, most = song.repeats
        pitch, tempo, level = rng.uniform((0.98, 0.95, -2), (1.02, 1.05, 0)).tolist()
        return cls(
            song,
            int(rng.integers(fewest, most + 1)),
            voice.pitch * pitch,
            voice.tempo * tempo,
            voice.level_db + level,
            voice.haze_db,
        )

    @property
    def seconds(self) -> float:
        """From the start of the first note to the end of the last."""
        notes = self.song.notes
        return self.tempo * (self.repeats * sum(note.seconds + note.gap for note in notes) - notes[-1].gap)

    @property
    def band(self) -> tuple[float, float]:
        """The lowest and the highest frequency in hertz, with all harmonics that one would see."""
        pitches = [pitch for note in self.song.notes for pitch in note.pitches]
        visible = [k for k, weight in enumerate(self.song.harmonics, 1) if weight >= 0.3 * max(self.song.harmonics)]
        return self.pitch * min(pitches) * visible[0], self.pitch * max(pitches) * visible[-1]

    def render(self, response: Response) -> Floats:
        """The sound, as it arrives behind that response."""
        pitch, envelope = self._contour()
        phase = 2 * np.pi * np.cumsum(pitch) / SAMPLING_RATE
        sound, samples = np.zeros(len(pitch)), np.arange(len(pitch))
        for k, weight in enumerate(self.song.harmonics, 1):
            line = k * pitch[::_STEP]
            heard = weight * 10 ** (-self.haze_db * line / 20_000) * response(line) * (line < 0.48 * SAMPLING_RATE)
            sound += np.interp(samples, samples[::_STEP], heard) * np.sin(k * phase)
        peak = np.sqrt(2) * 10 ** ((_LOUDNESS_DB + self.song.loudness_db + self.level_db) / 20)
        arriving: Floats = (peak * envelope * sound).astype(np.float32)
        return arriving

    def _contour(self) -> tuple[Doubles, Doubles]:
        """The pitch in hertz and the amplitude, sample by sample; silent gaps keep the pitch before them."""
        pitches, envelopes = [], []
        for _ in range(self.repeats):
            for note in self.song.notes:
                length, gap = (max(2, round(s * self.tempo * SAMPLING_RATE)) for s in (note.seconds, note.gap))
                points = np.linspace(0, 1, len(note.pitches))
                line = np.exp(np.interp(np.linspace(0, 1, length), points, np.log(note.pitches)))
                edge = np.minimum(np.arange(length), np.arange(length)[::-1]) / SAMPLING_RATE
                fade = min(_FADE_SECONDS, note.seconds * self.tempo / 2)
                pitches += [line, np.full(gap, line[-1])]
                envelopes += [np.sin(np.pi / 2 * np.minimum(1, edge / fade)) ** 2, np.zeros(gap)]
        sounding = round(self.seconds * SAMPLING_RATE)
        return self.pitch * np.concatenate(pitches)[:sounding], np.concatenate(envelopes)[:sounding]


def draw_stranger(rng: np.random.Generator) -> Song:
    """The song of some bird that nobody can name: a few sweeps."""
    notes = tuple(
        Note(tuple(rng.uniform(1500, 6500, 2).tolist()), *rng.uniform((0.1, 0.05), (0.4, 0.2)).tolist())
        for _ in range(int(rng.integers(2, 4)))
    )
    return Song("stranger", "", notes, (1, 1), loudness_db=3)
