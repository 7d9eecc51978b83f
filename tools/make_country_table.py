"""Makes ``wilds_targeted/annotations/countries_50m.npz`` from the npm package world-atlas.

    npm pack world-atlas@2.0.2 && tar xf world-atlas-2.0.2.tgz
    python tools/make_country_table.py package/countries-50m.json

The same input gives the same bytes (with the same zlib).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

OUTPUT = Path(__file__).parents[1] / "wilds_targeted" / "annotations" / "countries_50m.npz"

Ring = NDArray[np.int64]  # a row a point: longitude and latitude in quanta, the first point repeated at the end


def main() -> None:
    """Read the TopoJSON named on the command line, and write the table."""
    parser = argparse.ArgumentParser(description="Make the table of countries from world-atlas's TopoJSON.")
    parser.add_argument("topojson", type=Path, help="countries-50m.json of world-atlas 2.0.2")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="default: %(default)s")
    arguments = parser.parse_args()
    make_table(arguments.topojson, arguments.output)
    print(f"{arguments.output}: {arguments.output.stat().st_size / 1000:.0f} kB")


def make_table(topojson: Path, output: Path) -> None:
    """Write every country's rings, as `wilds_targeted.annotations.countries` reads them."""
    topology = json.loads(topojson.read_text(encoding="utf-8"))
    scale, translate = np.array(topology["transform"]["scale"]), np.array(topology["transform"]["translate"])
    arcs = [np.cumsum(arc, axis=0) for arc in topology["arcs"]]
    rings: list[Ring] = []
    ring_country: list[int] = []
    countries = topology["objects"]["countries"]["geometries"]
    for country, geometry in enumerate(countries):
        for arc_numbers in _ring_arcs(geometry):
            ring = _join([arcs[number] if number >= 0 else arcs[~number][::-1] for number in arc_numbers])
            rings.append(_unwrap(ring, scale, translate))
            ring_country.append(country)
    points = np.concatenate(rings)
    np.savez_compressed(
        output,
        names=np.array([geometry["properties"]["name"] for geometry in countries]),
        scale=scale,
        translate=translate,
        # Steps between neighbours are small numbers, which compress to a third of what the places do.
        steps=np.diff(points, axis=0, prepend=0).astype(np.int32),
        ring_length=np.array([len(ring) for ring in rings], np.int32),
        ring_country=np.array(ring_country, np.int16),
    )


def _ring_arcs(geometry: dict[str, Any]) -> list[list[int]]:
    """The rings of a geometry, holes too, each as the numbers of its arcs (``~n`` for arc n backwards)."""
    if geometry["type"] == "Polygon":
        return list(geometry["arcs"])
    return [ring for polygon in geometry["arcs"] for ring in polygon]


def _join(arcs: list[Ring]) -> Ring:
    """One ring of several arcs: each begins with the point at which the one before it ends."""
    return np.concatenate([arcs[0], *(arc[1:] for arc in arcs[1:])])


def _unwrap(ring: Ring, scale: NDArray[np.float64], translate: NDArray[np.float64]) -> Ring:
    """A ring without jumps from 180 to -180 degrees, past which its longitudes run on.

    World-atlas stitches what Natural Earth cuts there (Russia, Fiji). Antarctica's ring goes around the pole and does
    not come back to its beginning: it is closed along the pole.
    """
    turn = round(360 / scale[0])
    longitude = np.unwrap(ring[:, 0], period=turn)
    unwrapped = np.column_stack([longitude, ring[:, 1]])
    if longitude[0] == longitude[-1]:
        return unwrapped
    pole = round((-90 - translate[1]) / scale[1])
    return np.concatenate([unwrapped, [(longitude[-1], pole), (longitude[0], pole)], unwrapped[:1]], dtype=np.int64)


if __name__ == "__main__":
    main()
