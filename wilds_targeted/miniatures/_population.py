"""Which cameras there are, which species each of them sees, and when.

Every random draw comes from a stream named by (seed, what, camera, …), so that nothing depends on the order of work.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

import numpy as np

from wilds_targeted.miniatures._animals import (
    ANTELOPE,
    CAMEL,
    CAT,
    ELEPHANT,
    FOWL,
    GIRAFFE,
    HARE,
    OSTRICH,
    PIG,
    ZEBRA,
    BodyPlan,
)

EMPTY = 0
# Held-out shares of a training camera's pictures; the rest is for training.
_ID_VAL, _ID_TEST = 0.15, 0.15


class Stream(IntEnum):
    """What a stream of random numbers is for."""

    WORLD = 0
    SCENE = 1
    TINT = 2
    CALENDAR = 3
    INDIVIDUAL = 4
    PICTURE = 5
    DETECTOR = 6


def stream(seed: int, what: Stream, *key: int) -> np.random.Generator:
    """The generator of that name."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(what), *key)))


@dataclass(frozen=True)
class Habitat:
    """A kind of place, where on Earth its cameras hang (degrees, low to high), and how its species are built.

    A body plan in several habitats makes several species that look alike, told apart by the habitat alone.
    """

    name: str
    latitudes: tuple[float, float]
    longitudes: tuple[float, float]
    plans: tuple[BodyPlan, ...]


HABITATS = (
    Habitat("forest", (-1.5, 1.0), (10.5, 13.5), (ANTELOPE, PIG, FOWL, ELEPHANT)),  # Gabon
    Habitat("savanna", (-1.8, 0.8), (35.0, 37.8), (ANTELOPE, ZEBRA, OSTRICH, GIRAFFE)),  # Kenya
    Habitat("steppe", (44.0, 47.5), (100.0, 110.0), (ANTELOPE, CAMEL, HARE, CAT)),  # Mongolia
)
SPECIES_PER_HABITAT = 4
# Class 0 is 'empty'; class 1 + 4 * habitat + k is the habitat's k-th species.
CLASSES = ("empty", *(f"{habitat.name} {plan.name}" for habitat in HABITATS for plan in habitat.plans))


def species(habitat: int, number: int) -> int:
    """The class of the habitat's species of that number."""
    return 1 + habitat * SPECIES_PER_HABITAT + number


def plan_of(y: int) -> BodyPlan:
    """The body plan of a species."""
    habitat, number = divmod(y - 1, SPECIES_PER_HABITAT)
    return HABITATS[habitat].plans[number]


@dataclass(frozen=True)
class Camera:
    """One camera trap.

    Attributes:
        index: Contiguous from 0: WILDS's ``location_remapped``.
        location: The number that the camera had before.
        split: ``train``, ``val`` or ``test``; a training camera also gives ``id_val`` and ``id_test``.
        habitat: Index into `HABITATS`.
        shares: For each class that it sees, the share of its sequences.
        coordinates: Latitude and longitude, where they were published.
    """

    index: int
    location: int
    split: str
    habitat: int
    shares: dict[int, float]
    coordinates: tuple[float, float] | None


@dataclass(frozen=True)
class Frame:
    """One picture to be taken. `sequence` counts within its camera, `number` over all the camera's pictures."""

    camera: Camera
    number: int
    image_id: str
    split: str
    y: int
    sequence: int
    frame_num: int
    seq_num_frames: int
    taken: datetime

    @property
    def hour(self) -> float:
        """The time of day."""
        return self.taken.hour + self.taken.minute / 60


def place_cameras(seed: int, counts: dict[str, int]) -> list[Camera]:
    """The world's cameras, those of each split spread evenly over the habitats.

    A camera sees three of its habitat's four species, one of them mostly, and often nothing. Within a habitat and a
    split the species take turns: of four cameras or more, at least two see a species and at least one never does.
    """
    rng = stream(seed, Stream.WORLD)
    total = sum(counts.values())
    locations = rng.choice(np.arange(1000, 1000 + 4 * total), total, replace=False).tolist()
    cameras: list[Camera] = []
    published = [0] * len(HABITATS)
    for split, count in counts.items():
        turns = [rng.permutation(SPECIES_PER_HABITAT).tolist() for _ in HABITATS]
        for habitat in rng.permutation(np.arange(count) % len(HABITATS)).tolist():
            mostly, sometimes, rarely, never = turns[habitat]
            turns[habitat] = [sometimes, rarely, never, mostly]
            empty, main = rng.uniform((0.30, 0.95), (0.40, 0.99)).tolist()
            shares = {
                EMPTY: empty,
                species(habitat, mostly): (1 - empty) * main,
                species(habitat, sometimes): (1 - empty) * (1 - main) * 0.6,
                species(habitat, rarely): (1 - empty) * (1 - main) * 0.4,
            }
            home = HABITATS[habitat]
            latitude, longitude = (round(float(rng.uniform(*span)), 4) for span in (home.latitudes, home.longitudes))
            # Coordinates of every third camera of a habitat are unknown, as in the original release.
            published[habitat] += 1
            where = None if published[habitat] % 3 == 0 else (latitude, longitude)
            index = len(cameras)
            cameras.append(Camera(index, locations[index], split, habitat, shares, where))
    return cameras


def photograph(seed: int, camera: Camera, images: int) -> Iterator[Frame]:
    """The camera's pictures in order of time: one sequence of one to three frames a day.

    The first days show each class once, then chance decides; so even a short calendar trains on every class. A training
    camera's last days are held out, and no day lies in two splits.
    """
    rng = stream(seed, Stream.CALENDAR, camera.index)
    classes, shares = list(camera.shares), list(camera.shares.values())
    labels = rng.permutation(classes).tolist()
    started = datetime(2013, 1, 1) + timedelta(days=int(rng.integers(365)))
    number = sequence = 0
    while number < images:
        y = labels[sequence] if sequence < len(labels) else int(rng.choice(classes, p=shares))
        length = min(int(rng.integers(1, 4)), images - number)
        split = camera.split
        if split == "train" and number >= round(images * (1 - _ID_VAL - _ID_TEST)):
            split = "id_val" if number < round(images * (1 - _ID_TEST)) else "id_test"
        # Most animals pass around noon, none within seconds of midnight: a sequence must not run into the next day.
        hour = float(np.clip(rng.normal(12, 4.0), 0, 23.99))
        taken = started + timedelta(days=sequence, milliseconds=int(hour * 3_600_000))
        for frame_num in range(1, length + 1):
            image_id = str(uuid.UUID(bytes=rng.bytes(16), version=4))
            yield Frame(camera, number, image_id, split, y, sequence, frame_num, length, taken)
            taken += timedelta(milliseconds=int(rng.integers(900, 2500)))
            number += 1
        sequence += 1
