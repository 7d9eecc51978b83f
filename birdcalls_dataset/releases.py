"""The three public releases of annotated recordings that BirdCalls is made of, and how their files are named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

ANNOTATIONS_FILE = "annotations.csv"
SPECIES_FILE = "species.csv"
AUDIO_ARCHIVE = "soundscape_data.zip"


@dataclass(frozen=True)
class Release:
    """One release.

    Args:
        name: Our name for it, and for its folder.
        record: Its number on Zenodo.
        prefix: How the names of its recordings begin.
        region: The region, as the data set's metadata tells it.
        md5: The checksums that Zenodo publishes with the record, by file, as far as they are known here; the record
            itself tells them all.
    """

    name: str
    record: int
    prefix: str
    region: str
    md5: Mapping[str, str] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """Where a person can look at it."""
        return f"https://zenodo.org/records/{self.record}"


RELEASES = (
    Release(
        "hawaii",
        7078499,
        "UHH",
        "Hawaii",
        {
            ANNOTATIONS_FILE: "03b5550b6788734c5fe9728a1abc0ca2",
            AUDIO_ARCHIVE: "79cec7baf06770acf0ac0d519de070ca",
            SPECIES_FILE: "5c21df6024c41556cd334ed3d9efdf42",
        },
    ),
    Release(
        "amazon",
        7079124,
        "PER",
        "Southwest Amazon Basin",
        {ANNOTATIONS_FILE: "2ab1a54b35ba0b6df8a4c91a48a1b684", AUDIO_ARCHIVE: "bd01e1caba1b720c5856a3bd57d220d3"},
    ),
    Release(
        "northeast",
        7079380,
        "SSW",
        "Northeastern United States",
        {ANNOTATIONS_FILE: "517eb9700f88ec9ac054a8aec7c805ec", AUDIO_ARCHIVE: "4dc5a3e83494a638d80bc7b3d1517137"},
    ),
)

MICROPHONE_PATTERN = r"(?P<collection>[A-Za-z]+)_\d+(?:_(?P<site>S\d+))?_"
"""How a recording's name tells its microphone: ``PER_001_S03_20190116_100007Z.flac`` is of site S03 of PER. Sapsucker
Woods (``SSW_001_20170225_010000Z.flac``) names no site: all of it counts as one microphone."""


def microphone_of(file_name: str, pattern: str = MICROPHONE_PATTERN) -> str | None:
    """The microphone that a recording's name tells: the pattern's groups, joined; None where it does not fit.

    >>> microphone_of("PER_001_S03_20190116_100007Z.flac")
    'PER_S03'
    >>> microphone_of("SSW_001_20170225_010000Z.flac")
    'SSW'
    """
    match = re.match(pattern, file_name)
    return None if match is None else "_".join(group for group in match.groups() if group)


def release_of(file_name: str) -> Release | None:
    """The release that a recording's name tells, by its first part."""
    prefix = file_name.partition("_")[0]
    return next((release for release in RELEASES if release.prefix == prefix), None)
