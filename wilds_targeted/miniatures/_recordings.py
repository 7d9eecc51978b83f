"""A recording of a station: what its birds sing, what annotators write of it, and how it sounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wilds_targeted.miniatures._aviary import (
    SAMPLING_RATE,
    SPECIES,
    UNKNOWN,
    Floats,
    Phrase,
    Song,
    Voice,
    draw_stranger,
)
from wilds_targeted.miniatures._microphones import Microphone
from wilds_targeted.miniatures._soundscapes import FREQUENCIES, HABITATS, HOP, compose, draw_noise
from wilds_targeted.miniatures._stations import Bout, Recording, Station, Stream, stream

# The least time between two phrases, in seconds: the boxes around them do not touch.
_PAUSE = 0.2


@dataclass(frozen=True)
class Sung:
    """A phrase in a recording: when it starts, and its species' code."""

    start: float
    code: str
    phrase: Phrase


def sing(seed: int, recording: Recording) -> list[Sung]:
    """All phrases of a recording, in order of time."""
    return [sung for bout in recording.bouts for sung in _take_turns(_gather(seed, recording.station, bout))]


def _gather(seed: int, station: Station, bout: Bout) -> Iterator[Sung]:
    """What each of a bout's birds would sing if it were alone."""
    key = (station.region, station.site, bout.number)
    for role, species in enumerate((bout.species, bout.company)):
        if species is not None:
            kind = SPECIES[station.region][species]
            yield from _perform(kind.song, kind.code, bout, stream(seed, Stream.SONG, *key, role))
    if bout.has_stranger:
        rng = stream(seed, Stream.STRANGER, *key)
        phrases = _perform(draw_stranger(rng), UNKNOWN, bout, rng)
        yield phrases[int(rng.integers(len(phrases)))]


def _take_turns(wishes: Iterable[Sung]) -> Iterator[Sung]:
    """In order of time; nobody sings into another's phrase."""
    free = 0.0
    for sung in sorted(wishes, key=lambda each: each.start):
        if sung.start >= free:
            yield sung
            free = sung.start + sung.phrase.seconds + _PAUSE


def _perform(song: Song, code: str, bout: Bout, rng: np.random.Generator) -> list[Sung]:
    """One bird's phrases during a bout."""
    voice, pause = Voice.draw(rng), float(rng.uniform(0.5, 1.6))
    start, sung = bout.start + float(rng.uniform(0, 0.5)), list[Sung]()
    while True:
        phrase = Phrase.draw(song, voice, rng)
        if start + phrase.seconds > bout.end:
            return sung
        sung.append(Sung(start, code, phrase))
        start += phrase.seconds + pause * float(rng.uniform(0.7, 1.4))


def annotate(seed: int, recording: Recording, sung: list[Sung]) -> Iterator[dict[str, str | float]]:
    """A row for each phrase: a box around what one sees of it, as far from it as a hand that draws."""
    rng = stream(seed, Stream.ANNOTATOR, recording.station.region, recording.station.site, recording.number)
    for each in sung:
        before, after, below, above = rng.uniform((0.01, 0.01, 40, 40), (0.08, 0.08, 200, 200)).tolist()
        low, high = each.phrase.band
        yield {
            "Filename": recording.file_name,
            "Start Time (s)": round(each.start - before, 4),
            "End Time (s)": round(each.start + each.phrase.seconds + after, 4),
            "Low Freq (Hz)": round(max(0.0, low - below), 1),
            "High Freq (Hz)": round(min(SAMPLING_RATE / 2, high + above), 1),
            "Species eBird Code": each.code,
        }


def record(seed: int, recording: Recording, sung: list[Sung]) -> npt.NDArray[np.int16]:
    """The sound of a recording: its place and its birds, as its microphone hears them."""
    station = recording.station
    microphone, key = station.microphone, (station.region, station.site, recording.number)
    samples = recording.seconds * SAMPLING_RATE
    frames = samples // HOP + 1
    power = np.zeros((frames, len(FREQUENCIES)), np.float32)
    heard = (microphone.response(FREQUENCIES.astype(float)) ** 2).astype(np.float32)
    for strength, spectrum in compose(HABITATS[station.region], frames, stream(seed, Stream.SOUNDSCAPE, *key)):
        power += strength[:, None] * (spectrum * heard)
    power += microphone.noise(FREQUENCIES.astype(float)).astype(np.float32)
    rng = stream(seed, Stream.NOISE, *key)
    sound = draw_noise(power, rng) + microphone.tones(samples, rng)
    for each in sung:
        _add(sound, each, microphone)
    sound *= np.float32(32768 * 10 ** (microphone.gain_db / 20))
    whole: npt.NDArray[np.int16] = np.rint(np.clip(sound, -32768, 32767)).astype(np.int16)
    return whole


def _add(sound: Floats, each: Sung, microphone: Microphone) -> None:
    first = round(each.start * SAMPLING_RATE)
    phrase = each.phrase.render(microphone.response)
    sound[first : first + len(phrase)] += phrase
