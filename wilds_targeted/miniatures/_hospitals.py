"""Which hospitals there are, how each of them stains, and which patches are cut from their slides.

Every random draw comes from a stream named by (seed, what, number, …), so that nothing depends on the order of work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from PIL import Image, ImageFilter

from wilds_targeted.miniatures._painting import Floats, to_bytes
from wilds_targeted.miniatures._staining import Doubles, Stain
from wilds_targeted.miniatures._tissue import SIZE, STAGES, Morphology, paint_tissue

VAL_CENTER, TEST_CENTER = 1, 2
TRAIN_CENTERS = (0, 3, 4)
CENTERS = 5
SLIDES = 10
"""Slides of each hospital."""

_PATIENTS, _NODES = 20, 5
_GRID = 400
# How far the lean moves a class off the hospital's mean, as a logarithm; and how far chance moves slides and patches.
_LEAN, _SLIDE_SPREAD, _PATCH_SPREAD = 0.16, 0.05, 0.08
# In training hospitals tumour tends to be darker and bluer: more hematoxylin, less eosin.
_TREND = np.arctan2(-0.6, 0.8)


class Stream(IntEnum):
    """What a stream of random numbers is for."""

    STAIN = 0
    LEAN = 1
    SLIDES = 2
    CUTS = 3
    TISSUE = 4
    SCAN = 5


def stream(seed: int, what: Stream, *key: int) -> np.random.Generator:
    """The generator of that name."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(what), *key)))


@dataclass(frozen=True)
class Slide:
    """One slide: its number as WILDS counts (0 to 49), whose it is, the patient's stage, and its own staining."""

    number: int
    patient: str
    node: int
    stage: int
    staining: Doubles


@dataclass(frozen=True)
class Hospital:
    """One hospital.

    Attributes:
        center: WILDS's number, 0 to 4.
        stain: Its laboratory and scanner.
        lean: How the strength of hematoxylin and eosin leans on the label: added to the logarithm for tumour, taken
            away for normal tissue.
        slides: Its ten slides.
    """

    center: int
    stain: Stain
    lean: Doubles
    slides: tuple[Slide, ...]


@dataclass(frozen=True)
class Patch:
    """One patch to be cut. `number` counts within its hospital; `split` is 0 for train and 1 for id_val."""

    hospital: Hospital
    slide: Slide
    number: int
    x: int
    y: int
    tumor: bool
    split: int

    @property
    def path(self) -> str:
        """Its file, below the folder of all patches."""
        name = f"patient_{self.slide.patient}_node_{self.slide.node}"
        return f"{name}/patch_{name}_x_{self.x}_y_{self.y}.png"


def found_hospitals(seed: int) -> list[Hospital]:
    """The world's five hospitals, in the order of their numbers."""
    return [
        Hospital(center, Stain.draw(stream(seed, Stream.STAIN, center)), _lean(seed, center), _slides(seed, center))
        for center in range(CENTERS)
    ]


def _lean(seed: int, center: int) -> Doubles:
    """In training hospitals around one trend; elsewhere weaker, and in whichever direction."""
    rng = stream(seed, Stream.LEAN, center)
    if center in TRAIN_CENTERS:
        size, angle = _LEAN * rng.uniform(0.75, 1.25), _TREND + rng.normal(0, 0.3)
    else:
        size, angle = _LEAN * rng.uniform(0, 0.5), rng.uniform(0, 2 * np.pi)
    return np.array([size * np.cos(angle), size * np.sin(angle)])


def _slides(seed: int, center: int) -> tuple[Slide, ...]:
    """Ten patients, a slide of each; every stage is there, in shares that are the hospital's own."""
    rng = stream(seed, Stream.SLIDES, center)
    shares = rng.dirichlet(np.ones(STAGES))
    stages = rng.permutation([*range(STAGES), *rng.choice(STAGES, SLIDES - STAGES, p=shares)]).tolist()
    patients = np.sort(rng.choice(_PATIENTS, SLIDES, replace=False) + center * _PATIENTS).tolist()
    return tuple(
        Slide(center * SLIDES + k, f"{patient:03d}", int(rng.integers(_NODES)), stage, rng.normal(0, _SLIDE_SPREAD, 2))
        for k, (patient, stage) in enumerate(zip(patients, stages, strict=True))
    )


def cut_patches(seed: int, hospital: Hospital, patches: int, held_out: int = 0) -> Iterator[Patch]:
    """That many patches, and further held-out ones; half of both are tumour, as is half of each slide.

    The held-out ones are chosen at random among all, whichever their slide.
    """
    rng = stream(seed, Stream.CUTS, hospital.center)
    total = patches + held_out
    # Two turns through the classes for each turn through the slides.
    classes = np.arange(total) % 2
    slides = np.arange(total) // 2 % SLIDES
    # Like the real patches these lie on a grid of 32 pixels; they are drawn afresh, so they must not overlap.
    cells = rng.choice(_GRID * _GRID, total, replace=False)
    split = np.zeros(total, int)
    for y in (0, 1):
        split[rng.choice(np.flatnonzero(classes == y), held_out // 2, replace=False)] = 1
    for number in range(total):
        down, across = divmod(int(cells[number]), _GRID)
        slide = hospital.slides[int(slides[number])]
        yield Patch(hospital, slide, number, SIZE * across, SIZE * down, bool(classes[number]), int(split[number]))


def paint_patch(seed: int, patch: Patch) -> Floats:
    """The tissue of a patch, unstained: rows x columns x (hematoxylin, eosin)."""
    rng = stream(seed, Stream.TISSUE, patch.hospital.center, patch.number)
    return paint_tissue(Morphology.draw(rng, tumor=patch.tumor, stage=patch.slide.stage), rng)


def stain_of(patch: Patch, rng: np.random.Generator) -> Stain:
    """How that patch was stained: by its hospital, its slide, the hospital's lean on the label, and chance."""
    lean = patch.hospital.lean * (1 if patch.tumor else -1)
    return patch.hospital.stain.stronger(lean + patch.slide.staining + rng.normal(0, _PATCH_SPREAD, 2))


def scan_patch(seed: int, patch: Patch, stain: Stain | None = None) -> Image.Image:
    """The picture of a patch: painted, stained, and scanned more or less in focus.

    Args:
        seed: Which world.
        patch: Which patch.
        stain: How to stain it, instead of as its hospital does.
    """
    rng = stream(seed, Stream.SCAN, patch.hospital.center, patch.number)
    usual = stain_of(patch, rng)
    light = (stain or usual).render(paint_patch(seed, patch))
    blur = float(rng.uniform(0.1, 0.8))
    light += np.float32(0.012) * rng.standard_normal((SIZE, SIZE, 1), np.float32)
    return Image.fromarray(to_bytes(light)).filter(ImageFilter.BoxBlur(blur))
