"""Lymph node tissue as concentrations of stain: what a patch shows before anybody stains it.

Three things decide a patch. Whether it is *tumour* moves the nuclei: larger, more varied, more irregular, paler inside.
The patient's *stage* moves the same nuclei (late nodes are reactive, so that even their normal nuclei are large) and
shows by itself in the collagen, which thickens from stage to stage. How cells are *arranged* depends on both: an
arrangement that means tumour at one stage means normal tissue at another. So nuclei and arrangement tell the label
fully only together with the stage. The rest (directions, places, single cells) is chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from PIL import Image, ImageDraw

from wilds_targeted.miniatures._painting import Floats, smooth_noise
from wilds_targeted.miniatures._staining import Doubles

SIZE = 96
"""Rows and columns of a patch."""

STAGES = 3
_SCALE = 2
_CORNERS = 10
# Concentration of hematoxylin that the drawing's grey 255 stands for.
_FULL = 2.5
_MARGIN = 4.0
_ROWS, _COLUMNS = np.mgrid[:SIZE, :SIZE].astype(np.float32)


class Arrangement(IntEnum):
    """How cells stand to each other."""

    HOLLOW = 0
    SHEET = 1
    FILE = 2


# Chances of each arrangement by stage: a hollow is a tumour's gland at the first stage and a widened sinus at the last;
# a file is a capsule's fibroblasts at the first stage and scattered tumour cells at the last.
_ARRANGEMENTS = {
    True: ((0.60, 0.30, 0.10), (0.30, 0.40, 0.30), (0.10, 0.30, 0.60)),
    False: ((0.10, 0.45, 0.45), (0.25, 0.50, 0.25), (0.45, 0.45, 0.10)),
}


@dataclass(frozen=True)
class Morphology:
    """What a patch is made of; lengths are in pixels.

    Attributes:
        arrangement: How its cells stand.
        radius: Of a nucleus, on average.
        variety: Standard deviation of the logarithm of the radius.
        irregularity: How far a nucleus's outline strays from an ellipse, as a share of its radius.
        elongation: How much longer than wide nuclei are, as a logarithm.
        paleness: How much paler than its rim a nucleus is inside, as a share.
        crowding: Diameters over the distance between neighbours.
        band: From one band of collagen to the next.
        collagen: How much eosin the bands take up.
    """

    arrangement: Arrangement
    radius: float
    variety: float
    irregularity: float
    elongation: float
    paleness: float
    crowding: float
    band: float
    collagen: float

    @classmethod
    def draw(cls, rng: np.random.Generator, *, tumor: bool, stage: int) -> Morphology:
        """A patch of that kind in a patient at that stage."""
        arrangement = Arrangement(int(rng.choice(3, p=_ARRANGEMENTS[tumor][stage])))
        # How atypical the cells look: the classes lie 1 apart and overlap.
        grade = float(np.clip(tumor + rng.normal(0, 0.5), -0.5, 1.8))
        return cls(
            arrangement=arrangement,
            radius=float(2.9 + 0.5 * stage + 1.1 * tumor + rng.normal(0, 0.4)),
            variety=float(0.12 + 0.07 * max(grade, 0)),
            irregularity=float(0.05 + 0.06 * max(grade, 0)),
            elongation=float(rng.uniform(0.05, 0.3) + 0.35 * (arrangement is Arrangement.FILE)),
            paleness=float(np.clip(0.35 * grade - 0.05, 0, 0.55)),
            crowding=float(0.78 + 0.06 * grade + rng.normal(0, 0.05)),
            band=float((8, 15, 26)[stage] * np.exp(rng.normal(0, 0.15))),
            collagen=float((0.15, 0.40, 0.70)[stage] * np.exp(rng.normal(0, 0.2))),
        )


def paint_tissue(morphology: Morphology, rng: np.random.Generator) -> Floats:
    """Paint a patch: rows x columns x (hematoxylin, eosin), none below 0."""
    direction = float(rng.uniform(0, 2 * np.pi))
    fibres = _fibres(morphology, direction, rng)
    texture = smooth_noise(rng, SIZE, SIZE, cells=(14, 14), octaves=1)
    eosin = 0.38 + morphology.collagen * (fibres - 0.4) + 0.22 * texture
    hematoxylin = 0.12 + 0.08 * smooth_noise(rng, SIZE, SIZE, cells=(5, 5), octaves=1)
    x, y = _places(2 * morphology.radius / np.clip(morphology.crowding, 0.6, 1.0), rng)
    if morphology.arrangement is Arrangement.HOLLOW:
        hollows = rng.uniform(0, SIZE, (3, 2))
        width = rng.uniform(8, 14, 3)
        rim = np.min(np.hypot(x[:, None] - hollows[:, 0], y[:, None] - hollows[:, 1]) - width, axis=1)
        lined = rim < 3.2 * morphology.radius
        kept = (rim > 0.8 * morphology.radius) & (rng.random(len(x)) < np.where(lined, 0.97, 0.30))
        for (across, down), reach in zip(hollows.tolist(), width.tolist(), strict=True):
            away = np.sqrt((_COLUMNS - across) ** 2 + (_ROWS - down) ** 2) - reach
            filled = np.clip(0.5 + away / 3, 0.12, 1)
            eosin, hematoxylin = eosin * filled, hematoxylin * filled
    elif morphology.arrangement is Arrangement.FILE:
        inside = fibres[np.clip(y, 0, SIZE - 1).astype(int), np.clip(x, 0, SIZE - 1).astype(int)]
        kept = rng.random(len(x)) < np.where(inside < 0.45, 0.85, 0.08)
    else:
        kept = rng.random(len(x)) < 0.88
    nuclei = _nuclei(morphology, x[kept], y[kept], direction, rng)
    eosin *= 1 - 0.5 * np.clip(nuclei, 0, 1)
    section: Floats = np.maximum(np.stack([hematoxylin + nuclei, eosin], axis=2), 0)
    return section


def _fibres(morphology: Morphology, direction: float, rng: np.random.Generator) -> Floats:
    """Wavy bands across that direction, from 0 (between) to 1 (in the middle of one)."""
    warp = 0.6 * morphology.band * smooth_noise(rng, SIZE, SIZE, cells=(4, 4), octaves=1)
    across = math.cos(direction) * _COLUMNS + math.sin(direction) * _ROWS + warp
    bands: Floats = 0.5 + 0.5 * np.sin(across * (math.tau / morphology.band) + float(rng.uniform(0, math.tau)))
    return bands


def _places(spacing: float, rng: np.random.Generator) -> tuple[Doubles, Doubles]:
    """Where nuclei may lie: a honeycomb, a little beyond the edges, each cell moved by chance."""
    down, across = np.mgrid[
        -_MARGIN : SIZE + _MARGIN : spacing * 0.866,
        -_MARGIN : SIZE + _MARGIN : spacing,
    ]
    across[1::2] += spacing / 2
    moved = rng.normal(0, 0.17 * spacing, (2, down.size))
    return across.ravel() + moved[0], down.ravel() + moved[1]


def _nuclei(
    morphology: Morphology,
    x: Doubles,
    y: Doubles,
    direction: float,
    rng: np.random.Generator,
) -> Floats:
    """The nuclei's own hematoxylin: dark outlines, filled more or less darkly."""
    count = len(x)
    radius = morphology.radius * np.exp(rng.normal(0, morphology.variety, count))
    # Spindles lie along the fibres; round nuclei lie anyhow.
    along = direction + np.pi / 2 + rng.normal(0, 0.25, count)
    if morphology.arrangement is not Arrangement.FILE:
        along = rng.uniform(0, np.pi, count)
    stretch = np.exp(morphology.elongation * rng.uniform(0.3, 1, count))[:, None]
    turn = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
    waves = rng.normal(0, morphology.irregularity, (2, count, 1))
    phases = rng.uniform(0, 2 * np.pi, (2, count, 1))
    outline = radius[:, None] * (1 + waves[0] * np.cos(2 * turn + phases[0]) + waves[1] * np.cos(3 * turn + phases[1]))
    u, v = outline * np.cos(turn) * np.sqrt(stretch), outline * np.sin(turn) / np.sqrt(stretch)
    cos, sin = np.cos(along)[:, None], np.sin(along)[:, None]
    rims = np.stack([u * cos - v * sin, u * sin + v * cos], axis=2)
    centres = np.stack([x, y], axis=1)[:, None]
    darkness = np.exp(rng.normal(0.15, 0.15, count))
    image = Image.new("L", (SIZE * _SCALE, SIZE * _SCALE))
    draw = ImageDraw.Draw(image)
    # Nucleus by nucleus, so that each covers the ones below it whole.
    outer, inner = _flat(centres + rims), _flat(centres + 0.68 * rims)
    dark, pale = _greys(darkness), _greys(darkness * (1 - morphology.paleness))
    for rim, core, edge, middle in zip(outer, inner, dark, pale, strict=True):
        draw.polygon(rim, fill=edge)
        if middle != edge:
            draw.polygon(core, fill=middle)
    return np.asarray(image.reduce(_SCALE), np.float32) * np.float32(_FULL / 255)


def _flat(outlines: Doubles) -> list[list[float]]:
    """Each outline as x, y, x, y, …, in pixels of the drawing."""
    flat: list[list[float]] = (_SCALE * outlines).reshape(len(outlines), -1).tolist()
    return flat


def _greys(concentrations: Doubles) -> list[int]:
    greys: list[int] = np.clip(concentrations * (255 / _FULL), 0, 255).astype(int).tolist()
    return greys
