"""Folders of recordings: what lies in them, and what the files' names and headers tell. No sound is read here."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import soundfile

from birdcalls_dataset.build.problems import Kind, Problems
from birdcalls_dataset.build.rules import Rules
from birdcalls_dataset.releases import ANNOTATIONS_FILE, SPECIES_FILE, microphone_of, release_of
from wilds_targeted.errors import DataError, one_line

ENDINGS = (".flac", ".wav")
FOLDER = "birdcalls_v1.0"
PARTIAL = f"{FOLDER}.partial"
"""What a build makes; clips in there are no recordings."""
_MOST_FRAMES = 1 << 40
"""A year. A header that does not tell the length is read as one that tells an endless one."""


@dataclass(frozen=True)
class Source:
    """A folder with recordings and their annotations.

    Attributes:
        folder: The folder.
        files: The recordings below it, in order of their names.
    """

    folder: Path
    files: tuple[Path, ...]

    @property
    def annotations(self) -> Path:
        """The table of calls."""
        return self.folder / ANNOTATIONS_FILE

    @property
    def species(self) -> Path:
        """The list of species, which may be missing."""
        return self.folder / SPECIES_FILE


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording that can be cut.

    Attributes:
        path: The file.
        frames: How many samples it has.
        sample_rate: In hertz.
        microphone: The microphone's name.
        region: Where the microphone is.
    """

    path: Path
    frames: int
    sample_rate: int
    microphone: str
    region: str

    @property
    def seconds(self) -> float:
        """Its duration."""
        return self.frames / self.sample_rate


def find_sources(folders: Sequence[Path]) -> list[Source]:
    """The recordings of each folder.

    Raises:
        DataError: A folder is not what it should be, or is given twice, or two recordings have the same name.
    """
    if not folders:
        raise DataError("no folder of recordings is given.")
    for one, other in itertools.combinations(folders, 2):
        inner, outer = sorted((one.resolve(), other.resolve()), key=lambda folder: -len(folder.parts))
        if inner.is_relative_to(outer):
            how = "are the same folder" if inner == outer else "lie one inside the other"
            raise DataError(f"{one} and {other} {how}: give each folder of recordings once.")
    sources = [_find(folder) for folder in folders]
    first: dict[str, Path] = {}
    for path in (path for source in sources for path in source.files):
        # Clips are named after their recording, on some systems without regard to case.
        other = first.setdefault(path.stem.casefold(), path)
        if other is not path:
            raise DataError(f"{other} and {path} have the same name: clips are named after it. Remove or rename one.")
    return sources


def _find(folder: Path) -> Source:
    if not _is_text(folder.resolve().name):
        raise DataError(f"{str(folder)!r} has a name that is not UTF-8, and it may name a region: rename it.")
    if not (folder / ANNOTATIONS_FILE).is_file():
        raise DataError(
            f"{folder} has no {ANNOTATIONS_FILE}: expected is a folder with that table and the recordings (FLAC or "
            "WAV) of a release, as `python -m birdcalls_dataset download` fetches them."
        )
    files = [path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and _is_shown(path, folder)]
    if not files:
        raise DataError(
            f"{folder} has no recordings ({' or '.join(ENDINGS)}), at any depth; "
            "`python -m birdcalls_dataset download` fetches and unpacks them."
        )
    return Source(folder, tuple(sorted(files, key=lambda path: (path.name, path))))


def _is_shown(path: Path, folder: Path) -> bool:
    """Whether it is a file that nobody hides, and no clip.

    A download that was killed leaves half an archive in a hidden folder; a build may have its place in here.
    """
    parts = path.relative_to(folder).parts
    return path.is_file() and not any(part.startswith(".") or part in (FOLDER, PARTIAL) for part in parts)


def _is_text(name: str) -> bool:
    """Whether a name is UTF-8: Python reads other bytes as lone surrogates, which no table can hold."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def read_header(source: Source, path: Path, rules: Rules, problems: Problems) -> Recording | None:
    """What a recording's name and header tell; None where it can't be used, which is reported."""
    if not _is_text(path.name):
        problems.add(Kind.BAD_NAME, path, "the file's name is not UTF-8; left out")
        return None
    try:
        info = soundfile.info(str(path))
    except (soundfile.SoundFileError, OSError) as error:
        problems.add(Kind.UNREADABLE, path, f"{one_line(error)}; left out")
        return None
    microphone = microphone_of(path.name, rules.microphone_pattern)
    if not 0 < info.frames < _MOST_FRAMES:
        problems.add(Kind.UNREADABLE, path, "its header tells no length; left out")
    elif not microphone:
        text = "the file's name does not fit --microphone-pattern; left out"
        problems.add(Kind.NO_MICROPHONE, path, text)
    elif info.samplerate != rules.sample_rate:
        text = f"{info.samplerate} Hz where {rules.sample_rate} Hz are expected (--sample-rate); left out"
        problems.add(Kind.WRONG_RATE, path, text)
    elif info.channels != 1:
        problems.add(Kind.CHANNELS, path, f"{info.channels} channels; left out")
    else:
        release = release_of(path.name)
        region = source.folder.resolve().name if release is None else release.region
        return Recording(path, int(info.frames), int(info.samplerate), microphone, region)
    return None
