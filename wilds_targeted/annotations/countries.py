"""The country in which a camera stands, offline.

The borders are Natural Earth's at 1:50 million (public domain), from the npm package world-atlas 2.0.2 (ISC licence,
copyright 2013-2019 Michael Bostock), made into ``countries_50m.npz`` by ``tools/make_country_table.py``. Names are
Natural Earth's short ones ("Dem. Rep. Congo").
"""

from __future__ import annotations

import functools
import importlib.resources
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wilds_targeted.annotations._wrong import missing_field, wrong_field
from wilds_targeted.errors import AnnotationError

UNKNOWN = "unknown"
"""Where a camera without coordinates stands; the paper takes these cameras as one group."""

COAST_DEGREES = 1.0
"""How far from a border a point in no country may be, in degrees of a great circle (111 km): the map's coasts are
generalised, and the published coordinates are blurred."""

_Points = NDArray[np.float64]  # a row a point: longitude, latitude


def country_of(latitude: float, longitude: float) -> str:
    """The name of the country at these coordinates, in degrees; of the nearest one off its coast, else `UNKNOWN`.

    >>> country_of(-0.2, 11.6)
    'Gabon'
    >>> country_of(0, -30)
    'unknown'
    """
    return _world().country_of(latitude, longitude)


def countries_by_location(locations: Iterable[str], coordinates: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """The country of each location, `UNKNOWN` for those without coordinates.

    Args:
        locations: Ids as in the column ``location`` of ``metadata.csv``.
        coordinates: Latitude and longitude by location, from `read_coordinates`.
    """
    return {
        location: country_of(*coordinates[location]) if location in coordinates else UNKNOWN
        for location in dict.fromkeys(locations)
    }


def read_coordinates(path: Path) -> dict[str, tuple[float, float]]:
    """Latitude and longitude by location, from ``gps_locations.json``.

    Raises:
        AnnotationError: The file is missing or broken, or a field is not as it should be.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise AnnotationError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise AnnotationError(f"{path}: not JSON ({error}); is the file complete?") from None
    if not isinstance(content, dict):
        raise wrong_field(path, "(the whole file)", content, "an object with a location's id for each key")
    coordinates = {}
    for location, place in content.items():
        field = f"[{location!r}]"
        if not isinstance(place, dict):
            raise wrong_field(path, field, place, "an object with 'latitude' and 'longitude'")
        coordinates[location] = (
            _degrees(path, field, place, "latitude", 90),
            _degrees(path, field, place, "longitude", 180),
        )
    return coordinates


def _degrees(path: Path, field: str, place: dict[str, object], key: str, limit: int) -> float:
    expected = f"a number from -{limit} to {limit}"
    if key not in place:
        raise missing_field(path, f"{field}.{key}", expected)
    value = place[key]
    # `not <=` and not `>`: Python's JSON reads NaN.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= limit:
        raise wrong_field(path, f"{field}.{key}", value, expected)
    return float(value)


@dataclass(frozen=True)
class _World:
    """The borders: closed rings, of which a country may have many, holes among them.

    Args:
        names: The countries.
        rings: Each ring's points, the first repeated at the end; longitudes may run past 180, never jump.
        ring_country: Each ring's index in `names`.
        low: The smallest longitude and latitude of each ring.
        high: The largest.
    """

    names: list[str]
    rings: list[_Points]
    ring_country: NDArray[np.int16]
    low: _Points
    high: _Points

    def country_of(self, latitude: float, longitude: float) -> str:
        # A ring across the date line may hold the point a turn further east or west.
        points = [np.array([longitude + turn, latitude]) for turn in (0, 360, -360)]
        for point in points:
            if countries := self._around(point):
                return self.names[countries[0]]
        distance, country = min(self._nearest(point) for point in points)
        return self.names[country] if distance <= COAST_DEGREES else UNKNOWN

    def _around(self, point: _Points) -> list[int]:
        """The countries that hold a point: those of which an odd number of rings go around it."""
        inside: set[int] = set()
        for ring in np.flatnonzero(((self.low <= point) & (point <= self.high)).all(axis=1)):
            if _goes_around(self.rings[ring], point):
                inside ^= {int(self.ring_country[ring])}
        return sorted(inside)

    def _nearest(self, point: _Points) -> tuple[float, int]:
        """The distance to the nearest border, and whose it is; infinity where none is near."""
        # A degree of longitude shrinks towards the poles, so more of them are within reach.
        shrink = np.array([max(math.cos(math.radians(point[1])), 0.01), 1.0])
        reach = COAST_DEGREES / shrink
        near = np.flatnonzero(((self.low - reach <= point) & (point <= self.high + reach)).all(axis=1))
        distances = [(_distance((self.rings[ring] - point) * shrink), int(self.ring_country[ring])) for ring in near]
        return min(distances, default=(math.inf, -1))


def _goes_around(ring: _Points, point: _Points) -> bool:
    """Whether a ray from the point to the east crosses the ring an odd number of times."""
    x, y = (ring - point).T
    # A corner on the ray counts for one of its two edges: an edge holds its lower end and not its upper one.
    is_above = y > 0
    crossing = np.flatnonzero(is_above[:-1] != is_above[1:])
    x1, y1, x2, y2 = x[crossing], y[crossing], x[crossing + 1], y[crossing + 1]
    east = x1 - y1 * (x2 - x1) / (y2 - y1) > 0
    return bool(np.count_nonzero(east) % 2)


def _distance(ring: _Points) -> float:
    """The distance of the origin to the nearest edge of a ring."""
    start, edge = ring[:-1], np.diff(ring, axis=0)
    squared_length = np.maximum((edge**2).sum(axis=1), np.finfo(float).tiny)
    along = np.clip(-(start * edge).sum(axis=1) / squared_length, 0, 1)
    nearest = start + along[:, np.newaxis] * edge
    return float(np.sqrt((nearest**2).sum(axis=1).min()))


@functools.cache
def _world() -> _World:
    packaged = importlib.resources.files("wilds_targeted.annotations").joinpath("countries_50m.npz")
    with packaged.open("rb") as file, np.load(file, allow_pickle=False) as table:
        points = np.cumsum(table["steps"], axis=0) * table["scale"] + table["translate"]
        rings = np.split(points, np.cumsum(table["ring_length"])[:-1])
        return _World(
            names=table["names"].tolist(),
            rings=rings,
            ring_country=table["ring_country"],
            low=np.array([ring.min(axis=0) for ring in rings]),
            high=np.array([ring.max(axis=0) for ring in rings]),
        )
