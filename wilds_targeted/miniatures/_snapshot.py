"""One picture: the camera's scene, whoever walks through it, and what a detector makes of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wilds_targeted.miniatures._animals import PERSON, BodyPlan, paint_sprite
from wilds_targeted.miniatures._bodies import Coat
from wilds_targeted.miniatures._optics import Tint, develop, is_night
from wilds_targeted.miniatures._painting import Floats, to_bytes
from wilds_targeted.miniatures._population import EMPTY, Frame, Stream, plan_of, stream
from wilds_targeted.miniatures._scenery import Scene

Bytes = npt.NDArray[np.uint8]
ANIMAL, PERSON_CATEGORY = "1", "2"

# How often the detector's output is less than perfect, and a second body is in the picture.
_P_NO_MASK, _P_UNSURE, _P_PAIR, _P_PERSON = 0.06, 0.03, 0.12, 0.05


@dataclass(frozen=True)
class Detection:
    """A box (x, y, width, height as shares of the picture), how sure the detector is, and of what."""

    bbox: tuple[float, float, float, float]
    conf: float
    category: str


@dataclass(frozen=True)
class Snapshot:
    """What is known of one picture.

    Attributes:
        pixels: Rows x columns x RGB.
        instances: Rows x columns; 0 is background, k the k-th detection. None where no mask was published.
        detections: The real ones first, then ones of low confidence.
    """

    pixels: Bytes
    instances: Bytes | None
    detections: list[Detection]


def take_snapshot(seed: int, frame: Frame, scene: Scene, tint: Tint) -> Snapshot:
    """Take the picture of a frame."""
    rng = stream(seed, Stream.PICTURE, frame.camera.index, frame.number)
    radiance = scene.pixels.copy()
    instances = np.zeros(radiance.shape[:2], np.uint8)
    bodies = [] if frame.y == EMPTY else _bodies(seed, frame, rng)
    # Two bodies keep to their halves of the picture, so that neither hides the other.
    places = rng.permutation([0.26, 0.74]).tolist() if len(bodies) == 2 else [0.5]
    for place, (plan, coat) in zip(places, bodies, strict=False):
        spread = 0.36 / max(1, len(bodies)) ** 2
        across = float(rng.uniform(place - spread, place + spread))
        _put(radiance, instances, scene, plan, coat, across, shadow=not is_night(frame.hour), rng=rng)
    pixels = to_bytes(develop(radiance, tint, frame.hour, rng))
    categories = [PERSON_CATEGORY if plan is PERSON else ANIMAL for plan, _ in bodies]
    return _detect(stream(seed, Stream.DETECTOR, frame.camera.index, frame.number), pixels, instances, categories)


def _bodies(seed: int, frame: Frame, rng: np.random.Generator) -> list[tuple[BodyPlan, Coat]]:
    """Who is there: the sequence's individual, and now and then a second one or a person."""
    individual = stream(seed, Stream.INDIVIDUAL, frame.camera.index, frame.sequence)
    plan = plan_of(frame.y)
    bodies = [(plan, Coat.draw(individual, plan.fur))]
    if individual.random() < _P_PAIR:
        bodies.append((plan, Coat.draw(individual, plan.fur)))
    elif rng.random() < _P_PERSON:
        bodies.append((PERSON, Coat.draw(individual, PERSON.fur)))
    return bodies


def _put(
    radiance: Floats,
    instances: Bytes,
    scene: Scene,
    plan: BodyPlan,
    coat: Coat,
    across: float,
    *,
    shadow: bool,
    rng: np.random.Generator,
) -> None:
    """Stand one body on the ground, at `across` (a share of the width), and note its pixels as the next instance."""
    height, width = instances.shape
    depth = float(rng.uniform(0.25, 1.0))
    foot = scene.ground_line + (0.98 - scene.ground_line) * depth
    rows = max(8, round(height * plan.height * (0.6 + 0.5 * depth) * rng.uniform(0.85, 1.15)))
    sprite = paint_sprite(plan, coat, rng, rows)
    left, top = round(across * width - sprite.shape[1] / 2), round(foot * height - rows)
    if shadow:
        y, x = np.ogrid[:height, :width]
        wide = np.exp(-(((x - across * width) / (0.4 * sprite.shape[1])) ** 2))
        deep = np.exp(-(((y - foot * height) / (0.06 * rows)) ** 2))
        radiance *= (1 - 0.35 * wide * deep).astype(np.float32)[..., None]
    inside = (
        slice(max(top, 0), min(top + rows, height)),
        slice(max(left, 0), min(left + sprite.shape[1], width)),
    )
    part = sprite[inside[0].start - top : inside[0].stop - top, inside[1].start - left : inside[1].stop - left]
    alpha = part[..., 3:]
    radiance[inside] += alpha * (part[..., :3] - radiance[inside])
    instances[inside][alpha[..., 0] > 0.5] = instances.max() + 1


def _detect(rng: np.random.Generator, pixels: Bytes, instances: Bytes, categories: list[str]) -> Snapshot:
    """What a detector and a segmenter report, with the gaps that real annotations have."""
    has_mask, unsure = bool(categories), False
    if categories == [ANIMAL]:
        chance = rng.random()
        unsure = chance < _P_UNSURE
        has_mask = chance >= _P_UNSURE + _P_NO_MASK
    confidences = np.sort(rng.uniform(*((0.1, 0.45) if unsure else (0.6, 0.999)), len(categories)))[::-1]
    detections = [
        Detection(_box(instances == number, rng), round(conf, 3), category)
        for number, (conf, category) in enumerate(zip(confidences.tolist(), categories, strict=True), start=1)
    ]
    ceiling = min([0.3, *(detection.conf for detection in detections)])
    for conf in np.sort(rng.uniform(0.02, ceiling, rng.choice(4, p=(0.55, 0.25, 0.15, 0.05))))[::-1].tolist():
        x, y, w, h = rng.uniform((0, 0, 0.05, 0.05), (0.8, 0.8, 0.2, 0.2)).round(4).tolist()
        detections.append(Detection((x, y, w, h), round(conf, 3), ANIMAL if rng.random() < 0.9 else PERSON_CATEGORY))
    return Snapshot(pixels, instances if has_mask else None, detections)


def _box(mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> tuple[float, float, float, float]:
    """The box around the pixels of one instance, at most a pixel too wide on each side."""
    height, width = mask.shape
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    slack = rng.uniform(0, 1, 4)
    left, top = max(0.0, columns[0] - slack[0]), max(0.0, rows[0] - slack[1])
    right, bottom = min(width, columns[-1] + 1 + slack[2]), min(height, rows[-1] + 1 + slack[3])
    x, y, w, h = left / width, top / height, (right - left) / width, (bottom - top) / height
    return float(x), float(y), float(w), float(h)
