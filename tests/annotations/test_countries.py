from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wilds_targeted.annotations.countries import UNKNOWN, countries_by_location, country_of, read_coordinates
from wilds_targeted.errors import AnnotationError

PLACES = {
    "Gabon": (-0.2, 11.6),
    "Kenya": (0.3, 36.9),
    "Belize": (17.2, -88.7),
    "Bolivia": (-16.5, -68.1),
    "Madagascar": (-18.9, 47.5),
    "Indonesia": (-0.5, 101.4),
    "United States of America": (64.0, -150.0),
    "South Africa": (-29.1, 26.2),
    "Lesotho": (-29.6, 28.2),
    "San Marino": (43.94, 12.45),
    "Italy": (41.8, 12.6),
    "Antarctica": (-85.0, 10.0),
}


@pytest.mark.parametrize(("name", "place"), PLACES.items())
def test_known_places(name: str, place: tuple[float, float]) -> None:
    assert country_of(*place) == name


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("Russia", (66.0, -172.0)),  # Chukotka, east of the date line
        ("Russia", (60.0, 100.0)),
        ("Fiji", (-17.8, 178.0)),
        ("Fiji", (-16.8, -179.97)),
        ("United States of America", (52.9, 172.9)),  # Attu, west of it
        ("Antarctica", (-89.99999, 170.0)),
    ],
)
def test_across_the_date_line_and_at_the_pole(name: str, place: tuple[float, float]) -> None:
    assert country_of(*place) == name


@pytest.mark.parametrize("latitude", [-17.0, 66.0, 71.2, 0.0, -80.0])
def test_the_date_line_has_one_country_on_both_of_its_names(latitude: float) -> None:
    assert country_of(latitude, 180) == country_of(latitude, -180)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("Gabon", (0.39, 9.2)),  # off Libreville
        ("Madagascar", (-15.4, 50.6)),  # off Masoala, half a degree
        ("Ghana", (4.2, -2.0)),
        (UNKNOWN, (3.0, -2.0)),
    ],
)
def test_off_the_coast_the_nearest_country_within_a_degree(name: str, place: tuple[float, float]) -> None:
    assert country_of(*place) == name


@pytest.mark.parametrize("place", [(0.0, -30.0), (90.0, 0.0), (-40.0, 90.0), (30.0, -150.0)])
def test_mid_ocean(place: tuple[float, float]) -> None:
    assert country_of(*place) == UNKNOWN


def test_four_hundred_places_take_less_than_a_second() -> None:
    rng = np.random.default_rng(0)
    country_of(0, 0)  # loads the borders
    start = time.process_time()
    for latitude, longitude in zip(rng.uniform(-90, 90, 400), rng.uniform(-180, 180, 400), strict=True):
        country_of(latitude, longitude)
    assert time.process_time() - start < 1


def test_locations_without_coordinates_are_one_group() -> None:
    coordinates = {"7": PLACES["Gabon"], "8": PLACES["Kenya"]}
    assert countries_by_location(["8", "7", "9", "7", ""], coordinates) == {
        "8": "Kenya",
        "7": "Gabon",
        "9": UNKNOWN,
        "": UNKNOWN,
    }


class TestCoordinates:
    def write(self, tmp_path: Path, content: Any) -> Path:
        path = tmp_path / "gps_locations.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def error_of(self, path: Path) -> str:
        with pytest.raises(AnnotationError) as caught:
            read_coordinates(path)
        message = str(caught.value)
        assert "\n" not in message
        assert message.startswith(f"{path}: ")
        return message.removeprefix(f"{path}: ")

    def test_read(self, tmp_path: Path) -> None:
        content = {
            "7": {"latitude": -0.2, "longitude": 11.6, "sub_locations": []},
            "12": {"latitude": 90, "longitude": -180},
        }
        assert read_coordinates(self.write(tmp_path, content)) == {"7": (-0.2, 11.6), "12": (90.0, -180.0)}

    @pytest.mark.parametrize(
        ("place", "message"),
        [
            ({"longitude": 1}, "['7'].latitude: missing; expected a number from -90 to 90"),
            ({"latitude": 1}, "['7'].longitude: missing; expected a number from -180 to 180"),
            ({"latitude": 90.5, "longitude": 1}, "['7'].latitude: got 90.5; expected a number from -90 to 90"),
            ({"latitude": 1, "longitude": -181}, "['7'].longitude: got -181; expected a number from -180 to 180"),
            ({"latitude": "1", "longitude": 1}, "['7'].latitude: got '1'; expected a number from -90 to 90"),
            ({"latitude": True, "longitude": 1}, "['7'].latitude: got True; expected a number from -90 to 90"),
            ({"latitude": float("nan"), "longitude": 1}, "['7'].latitude: got nan; expected a number from -90 to 90"),
            ([1, 2], "['7']: got [1, 2]; expected an object with 'latitude' and 'longitude'"),
        ],
    )
    def test_a_wrong_field_is_named(self, tmp_path: Path, place: Any, message: str) -> None:
        content = {"3": {"latitude": 0, "longitude": 0}, "7": place}
        assert self.error_of(self.write(tmp_path, content)) == message

    def test_broken_files(self, tmp_path: Path) -> None:
        assert self.error_of(self.write(tmp_path, '{"7": ')).endswith("; is the file complete?")
        assert self.error_of(self.write(tmp_path, [])) == (
            "(the whole file): got []; expected an object with a location's id for each key"
        )
        assert self.error_of(tmp_path / "absent.json") == "cannot be read (No such file or directory)"
